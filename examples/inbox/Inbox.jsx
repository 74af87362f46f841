// An inbox of your own making in React, on the client beneath the element.
// Copy inbox-client.js from your Waypost, or let your bundler load it: import { InboxClient } from "/inbox-client.js".

import { useEffect, useMemo, useState } from "react";
import { InboxClient } from "./inbox-client.js";

export function useInbox({ url, inbox = "main", getToken }) {
  const client = useMemo(() => new InboxClient({ url, inbox, getToken }), [url, inbox]);
  const [counts, setCounts] = useState({ unread: 0, total: 0, topics: {} });
  const [messages, setMessages] = useState([]);

  useEffect(() => {
    const put = ({ detail }) =>
      setMessages((known) => [detail, ...known.filter((one) => one.id !== detail.id)].sort((a, b) => (a.id < b.id ? 1 : -1)));
    const drop = ({ detail }) => setMessages((known) => known.filter((one) => one.id !== detail.id));
    const load = async () => setMessages((await client.list()).items);
    const count = ({ detail }) => setCounts(detail);
    const readAll = ({ detail }) =>
      setMessages((known) => known.map((one) => (one.id <= detail.before ? { ...one, read_at: one.read_at ?? detail.read_at } : one)));
    const heard = { message: put, change: put, removed: drop, reset: load, counts: count, read_all: readAll };
    for (const [kind, listener] of Object.entries(heard)) client.addEventListener(kind, listener);
    client.start();
    return () => {
      client.stop();
      for (const [kind, listener] of Object.entries(heard)) client.removeEventListener(kind, listener);
    };
  }, [client]);

  return { client, counts, messages };
}

export function Inbox({ url, getToken }) {
  const { client, counts, messages } = useInbox({ url, getToken });
  return (
    <section aria-label="Notifications">
      <h2>Notifications ({counts.unread})</h2>
      <ul>
        {messages.map((message) => (
          <li key={message.id}>
            <button type="button" onClick={() => client.read([message.id])}>
              {message.read_at ? message.title : <strong>{message.title}</strong>}
            </button>
            <p>{message.body}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

// Or use the element as it is:
export function Bell({ url, getToken }) {
  const attach = (element) => {
    if (element) element.getToken = getToken;
  };
  return <waypost-inbox ref={attach} url={url} />;
}
