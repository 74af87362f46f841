/** What <waypost-inbox> says, by language. A page changes words with the element's `labels`. */

const ENGLISH = {
  title: "Notifications", open: "Notifications", unread: (n) => `${n} unread`, all: "All", onlyUnread: "Unread", archived: "Archive",
  readAll: "Mark all read", settings: "Preferences", back: "Back", close: "Close", read: "Mark read", markUnread: "Mark unread",
  archive: "Archive", unarchive: "Bring back", snooze: "Snooze", hour: "For an hour", tomorrow: "Until tomorrow", week: "For a week",
  emptyTitle: "Nothing here", empty: "New messages appear here.", errorTitle: "This did not load", error: "Check your connection and try again.",
  retry: "Try again", offline: "You are offline. What is new comes as soon as you are back.", loading: "Loading", show: "Show", dismiss: "Dismiss",
  saved: "Saved", notSaved: "That could not be saved.", mandatory: "Always on", noTopics: "There is nothing to choose here.", more: "More messages loaded",
  channels: { email: "Email", sms: "SMS", whatsapp: "WhatsApp", push: "Push", inapp: "In this list", voice: "Phone call", chat: "Chat" },
};
const GERMAN = {
  title: "Benachrichtigungen", open: "Benachrichtigungen", unread: (n) => `${n} ungelesen`, all: "Alle", onlyUnread: "Ungelesen", archived: "Archiv",
  readAll: "Alle gelesen", settings: "Einstellungen", back: "Zurück", close: "Schließen", read: "Als gelesen markieren", markUnread: "Als ungelesen markieren",
  archive: "Archivieren", unarchive: "Zurückholen", snooze: "Später", hour: "In einer Stunde", tomorrow: "Morgen", week: "In einer Woche",
  emptyTitle: "Nichts da", empty: "Neue Nachrichten erscheinen hier.", errorTitle: "Das ließ sich nicht laden", error: "Bitte Verbindung prüfen und noch einmal versuchen.",
  retry: "Noch einmal", offline: "Sie sind offline. Neues kommt, sobald Sie zurück sind.", loading: "Lädt", show: "Zeigen", dismiss: "Verwerfen",
  saved: "Gespeichert", notSaved: "Das ließ sich nicht speichern.", mandatory: "Immer an", noTopics: "Hier gibt es nichts zu wählen.", more: "Weitere Nachrichten geladen",
  channels: { email: "E-Mail", sms: "SMS", whatsapp: "WhatsApp", push: "Push", inapp: "In dieser Liste", voice: "Anruf", chat: "Chat" },
};
const FRENCH = {
  title: "Notifications", open: "Notifications", unread: (n) => `${n} non lues`, all: "Toutes", onlyUnread: "Non lues", archived: "Archives",
  readAll: "Tout marquer comme lu", settings: "Préférences", back: "Retour", close: "Fermer", read: "Marquer comme lu", markUnread: "Marquer comme non lu",
  archive: "Archiver", unarchive: "Désarchiver", snooze: "Plus tard", hour: "Dans une heure", tomorrow: "Demain", week: "Dans une semaine",
  emptyTitle: "Rien ici", empty: "Les nouveaux messages apparaîtront ici.", errorTitle: "Chargement impossible", error: "Vérifiez votre connexion et réessayez.",
  retry: "Réessayer", offline: "Vous êtes hors ligne. Les nouveautés arriveront à votre retour.", loading: "Chargement", show: "Voir", dismiss: "Ignorer",
  saved: "Enregistré", notSaved: "L’enregistrement a échoué.", mandatory: "Toujours actif", noTopics: "Il n’y a rien à choisir ici.", more: "D’autres messages sont chargés",
  channels: { email: "E-mail", sms: "SMS", whatsapp: "WhatsApp", push: "Push", inapp: "Dans cette liste", voice: "Appel", chat: "Chat" },
};
const SPANISH = {
  title: "Notificaciones", open: "Notificaciones", unread: (n) => `${n} sin leer`, all: "Todas", onlyUnread: "Sin leer", archived: "Archivo",
  readAll: "Marcar todo como leído", settings: "Preferencias", back: "Volver", close: "Cerrar", read: "Marcar como leído", markUnread: "Marcar como no leído",
  archive: "Archivar", unarchive: "Recuperar", snooze: "Más tarde", hour: "Dentro de una hora", tomorrow: "Mañana", week: "Dentro de una semana",
  emptyTitle: "Nada por aquí", empty: "Los mensajes nuevos aparecerán aquí.", errorTitle: "No se ha podido cargar", error: "Comprueba tu conexión e inténtalo de nuevo.",
  retry: "Reintentar", offline: "Estás sin conexión. Lo nuevo llegará cuando vuelvas.", loading: "Cargando", show: "Ver", dismiss: "Descartar",
  saved: "Guardado", notSaved: "No se ha podido guardar.", mandatory: "Siempre activo", noTopics: "Aquí no hay nada que elegir.", more: "Se han cargado más mensajes",
  channels: { email: "Correo", sms: "SMS", whatsapp: "WhatsApp", push: "Push", inapp: "En esta lista", voice: "Llamada", chat: "Chat" },
};
const ARABIC = {
  title: "الإشعارات", open: "الإشعارات", unread: (n) => `${n} غير مقروءة`, all: "الكل", onlyUnread: "غير المقروءة", archived: "الأرشيف",
  readAll: "تعليم الكل كمقروء", settings: "التفضيلات", back: "رجوع", close: "إغلاق", read: "تعليم كمقروء", markUnread: "تعليم كغير مقروء",
  archive: "أرشفة", unarchive: "استعادة", snooze: "لاحقًا", hour: "بعد ساعة", tomorrow: "غدًا", week: "بعد أسبوع",
  emptyTitle: "لا شيء هنا", empty: "ستظهر الرسائل الجديدة هنا.", errorTitle: "تعذّر التحميل", error: "تحقق من اتصالك ثم أعد المحاولة.",
  retry: "أعد المحاولة", offline: "أنت غير متصل. سيصل الجديد فور عودتك.", loading: "جارٍ التحميل", show: "عرض", dismiss: "تجاهل",
  saved: "تم الحفظ", notSaved: "تعذّر الحفظ.", mandatory: "مفعّل دائمًا", noTopics: "لا يوجد ما تختاره هنا.", more: "تم تحميل المزيد من الرسائل",
  channels: { email: "البريد", sms: "رسائل قصيرة", whatsapp: "واتساب", push: "إشعار فوري", inapp: "في هذه القائمة", voice: "مكالمة", chat: "محادثة" },
};
const LANGUAGES = { en: ENGLISH, de: GERMAN, fr: FRENCH, es: SPANISH, ar: ARABIC };

export const wordsFor = (locale, labels) => ({ ...(LANGUAGES[locale.toLowerCase().split("-")[0]] || ENGLISH), ...labels });

const STEPS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** `3 hours ago`, in the words of the locale. */
export function ago(moment, locale) {
  let seconds = (new Date(moment) - Date.now()) / 1000;
  if (Math.abs(seconds) < 45) seconds = 0;
  const [unit, length] = STEPS.find(([, size]) => Math.abs(seconds) >= size) || STEPS.at(-1);
  return new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "long" }).format(Math.round(seconds / length), unit);
}
