/**
 * A recipient's inbox without a face: for any framework, and beneath <waypost-inbox>.
 *
 *   const inbox = new InboxClient({ url: "https://waypost.example.com", getToken: async () => token });
 *   inbox.addEventListener("counts", (event) => badge(event.detail.unread));
 *   inbox.start();
 *
 * `getToken` is asked for a token when one is needed, and again when that one has run out. Tokens travel in a header.
 * Events: `status` (connecting, live, offline, refused), `counts`, `message`, `change`, `read_all`, `removed`, `reset`.
 */

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
const SILENCE = 60_000; // The server's heartbeat comes far more often.

export class InboxError extends Error {
  constructor(status, problem) {
    super(problem?.detail || `HTTP ${status}`);
    this.name = "InboxError";
    this.status = status;
    this.code = problem?.code || "failed";
  }
}

export class InboxClient extends EventTarget {
  #token = null;
  #asking = null;
  #running = null;
  #lastEventId = null;
  #streamUrl = null;
  #wake = null;
  #hangUp = null;

  constructor({ url, inbox = "main", getToken, fetch: ask = (...given) => globalThis.fetch(...given) }) {
    super();
    if (typeof getToken !== "function") throw new TypeError("InboxClient needs getToken, a function.");
    this.url = String(url || "").replace(/\/+$/, "");
    this.inbox = inbox;
    this.getToken = getToken;
    this.status = "idle";
    this.counts = null;
    this.ask = ask;
  }

  // Reading and acting

  list({ cursor, limit = 20, ...filters } = {}) {
    const query = new URLSearchParams({ limit });
    if (cursor) query.set("cursor", cursor);
    for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
    return this.#call("GET", `${this.#path}/messages?${query}`);
  }

  get(id) {
    return this.#call("GET", `${this.#path}/messages/${encodeURIComponent(id)}`);
  }

  async fetchCounts() {
    return this.#counted(await this.#call("GET", `${this.#path}/counts`));
  }

  read(ids) { return this.#act("read", { ids }); }
  /** Everything up to a message's id or a time, itself included. */
  readAll(before) { return this.#act("read", { before }); }
  unread(ids) { return this.#act("unread", { ids }); }
  seen(ids) { return this.#act("seen", { ids }); }
  archive(ids) { return this.#act("archive", { ids }); }
  unarchive(ids) { return this.#act("unarchive", { ids }); }
  pin(ids) { return this.#act("pin", { ids }); }
  unpin(ids) { return this.#act("unpin", { ids }); }
  click(ids) { return this.#act("click", { ids }); }
  snooze(ids, until) { return this.#act("snooze", { ids, until: new Date(until).toISOString() }); }
  unsnooze(ids) { return this.#act("unsnooze", { ids }); }

  preferences() { return this.#call("GET", "/v1/me/preferences"); }
  /** `{ channels: { email: { topics: { newsletter: false } } } }`: what is not named stays. */
  setPreferences(change) { return this.#call("PUT", "/v1/me/preferences", change); }

  // Following

  start() {
    if (this.#running) return;
    this.#running = new AbortController();
    const hurry = () => this.#wake?.();
    const { signal } = this.#running;
    // A line that was open before may look alive for minutes.
    globalThis.addEventListener?.("online", () => { this.#hangUp?.(); hurry(); }, { signal });
    globalThis.addEventListener?.("offline", () => this.#say("offline"), { signal });
    globalThis.document?.addEventListener("visibilitychange", hurry, { signal });
    this.#follow(signal);
  }

  stop() {
    this.#running?.abort();
    this.#running = null;
    this.#wake?.();
    this.#say("idle");
  }

  async #follow(signal) {
    let failures = 0;
    while (!signal.aborted) {
      let pause = 0;
      try {
        if (this.status !== "live") this.#say("connecting");
        pause = await this.#listen(signal, () => { failures = 0; });
      } catch (error) {
        if (signal.aborted) return;
        if (error?.name === "AbortError" && globalThis.navigator?.onLine !== false) continue;
        failures += 1;
        // Not allowed is not the weather: trying again soon would not help.
        const refused = error instanceof InboxError && [401, 403, 404, 422].includes(error.status);
        this.#say(refused ? "refused" : "offline", error);
        pause = refused ? LONGEST_PAUSE : Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures);
      }
      await this.#rest(pause, signal);
    }
  }

  /** Until the stream ends. Tells how long to wait before the next one. */
  async #listen(signal, heard) {
    const base = await this.#whereStreamsAre();
    const cut = new AbortController();
    const end = () => cut.abort();
    signal.addEventListener("abort", end, { once: true });
    this.#hangUp = end;
    let silence;
    const alive = () => { clearTimeout(silence); silence = setTimeout(end, SILENCE); };
    try {
      const headers = { Accept: "text/event-stream" };
      if (this.#lastEventId) headers["Last-Event-ID"] = this.#lastEventId;
      alive();
      const answer = await this.#send("GET", `${base}${this.#path}/stream`, { headers, signal: cut.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      let pause = FIRST_PAUSE;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return pause;
        alive();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) {
          const retry = /^retry: (\d+)$/m.exec(block);
          if (retry) pause = Number(retry[1]);
          this.#hear(block, heard);
        }
      }
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", end);
      cut.abort();
    }
  }

  #hear(block, heard) {
    let kind = "";
    let data = "";
    let id = null;
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) kind = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
      else if (line.startsWith("id: ")) id = line.slice(4);
    }
    if (!kind) return;
    heard();
    const detail = data ? JSON.parse(data) : {};
    if (kind === "hello") {
      const missed = this.#lastEventId === null || !detail.resumed;
      this.#lastEventId = id ?? this.#lastEventId;
      this.#say("live");
      if (missed) this.#tell("reset", {});
      return;
    }
    if (kind === "counts") this.#counted(detail);
    else this.#tell(kind, detail);
    // Only now: what was not handled is asked for again.
    if (id !== null) this.#lastEventId = id;
  }

  async #whereStreamsAre() {
    if (this.#streamUrl === null) {
      const me = await this.#call("GET", "/v1/me");
      this.#streamUrl = (me.stream_url || "").replace(/\/+$/, "") || this.url;
    }
    return this.#streamUrl;
  }

  #rest(milliseconds, signal) {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => { clearTimeout(timer); this.#wake = null; resolve(); };
    });
  }

  // Asking

  get #path() { return `/v1/me/inboxes/${encodeURIComponent(this.inbox)}`; }

  async #act(verb, body) {
    const answer = await this.#call("POST", `${this.#path}/${verb}`, body);
    // Where nothing is followed, nobody else brings the new counts.
    if (this.status !== "live" && verb !== "seen" && verb !== "click") await this.fetchCounts().catch(() => {});
    return answer;
  }

  async #call(method, path, body) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await this.#send(method, this.url + path, {
      headers, body: body === undefined ? undefined : JSON.stringify(body),
    });
    return answer.status === 204 ? null : answer.json();
  }

  async #send(method, address, options) {
    for (let attempt = 0; ; attempt += 1) {
      const token = await this.#currentToken();
      const answer = await this.ask(address, {
        method,
        ...options,
        headers: { ...options.headers, Authorization: `Bearer ${token}` },
        cache: "no-store",
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
      if (answer.ok) return answer;
      if (answer.status === 401 && attempt === 0) {
        if (this.#token === token) this.#token = null;
        continue;
      }
      throw new InboxError(answer.status, await answer.json().catch(() => null));
    }
  }

  async #currentToken() {
    if (this.#token) return this.#token;
    this.#asking ??= Promise.resolve(this.getToken()).finally(() => { this.#asking = null; });
    const given = await this.#asking;
    this.#token = typeof given === "string" ? given : given?.token;
    if (!this.#token) throw new InboxError(401, { code: "no_token", detail: "getToken gave no token." });
    return this.#token;
  }

  // Telling

  #say(status, error = null) {
    if (this.status === status) return;
    this.status = status;
    this.#tell("status", { status, error });
  }

  #counted(counts) {
    this.counts = counts;
    this.#tell("counts", counts);
    return counts;
  }

  #tell(kind, detail) { this.dispatchEvent(new CustomEvent(kind, { detail })); }
}
