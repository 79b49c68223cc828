// Shows push messages while no page is open, and opens their pages. It does not intercept requests and stores
// nothing.
const icon = '/assets/push-icon'; // replaced by the server

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim())); // needed to navigate open pages

self.addEventListener('push', (e) => e.waitUntil(show(read(e.data))));

function read(data) {
  try {
    return data.json();
  } catch {
    return { title: 'ahphub', path: '/' };
  }
}

// address resolves a path, limited to this server.
function address(path) {
  const url = new URL(path || '/', self.location.origin);
  return url.origin === self.location.origin ? url : new URL('/', self.location.origin);
}

const pages = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

// isViewed reports whether the reader is looking at the session of a message.
const isViewed = (open, session) =>
  !!session && open.some((c) => c.focused && `${new URL(c.url).pathname}/`.startsWith(`/s/${session}/`));

async function show(x) {
  if (isViewed(await pages(), x.session)) return;
  await self.registration.showNotification(x.title, {
    body: x.text || '',
    tag: `${x.session || ''} ${x.kind || ''}`,
    renotify: true,
    icon,
    data: { path: x.path },
  });
}

// When a browser replaces its subscription, this event is sent once; without an answer, the device would be removed.
self.addEventListener('pushsubscriptionchange', (e) => e.waitUntil(renew(e.oldSubscription, e.newSubscription)));

async function renew(before, now) {
  const options = before?.options;
  const s = now || (options && (await self.registration.pushManager.subscribe(options)));
  if (!s) return;
  const { endpoint, keys } = s.toJSON();
  const body = new URLSearchParams({ endpoint, ...keys });
  await fetch('/settings/notifications/push', { method: 'POST', body, headers: { 'X-Fragment': 'form' } });
}

self.addEventListener('notificationclick', (e) => {
  e.notification.close();
  e.waitUntil(open(address(e.notification.data?.path)));
});

// open focuses a page that is already open there, so that no typed text is lost, or opens a new one.
async function open(url) {
  const there = (await pages()).find((c) => new URL(c.url).pathname === url.pathname);
  if (!there) return self.clients.openWindow(url.href);
  const page = await there.focus();
  return page.navigate(url.href).catch(() => self.clients.openWindow(url.href)); // the page may be uncontrolled
}
