// The stream of live patches, and the notice while it is disconnected.
import { $, say, sayAgain } from './dom.js';
import { makeMarks, retryDelay } from './feed.js';
import { enqueue } from './patch.js';

// Each page has one WebSocket. marks holds the newest frame of each room; after a reconnect the stream resumes from
// there. The server sends something every 2 s: silence is shown, and after a longer one the socket is closed. That
// timeout grows each time, as a large frame on a slow line is silent, too.
const marks = makeMarks(new URLSearchParams(document.body.dataset.live || '').getAll('f'));
const silent = 3600;
const patience = 12000; // ms
let socket;
let tries = 0;
let told;
let heard = 0;
let checks = 0;
let given = 1;
let shown;
let retry;
// The page's own report; it is sent again after a reconnect.
export function report(text) {
  told = text;
  if (socket?.readyState === 1) socket.send(text);
}
function connect() {
  clearTimeout(retry);
  const q = marks
    .list()
    .map((m) => `f=${encodeURIComponent(m)}`)
    .join('&');
  if (!q) return;
  const at = new URLSearchParams(document.body.dataset.live);
  at.delete('f');
  heard = Date.now();
  socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/live?${q}&${at}`);
  socket.onopen = () => {
    tries = 0;
    alive();
    if (told) socket.send(told);
  };
  socket.onmessage = (e) => {
    alive();
    const [feed, n, list, mark] = JSON.parse(e.data);
    if (!feed) return; // a heartbeat
    given = 1;
    marks.advance(feed, n, mark);
    enqueue(list);
  };
  socket.onclose = (e) => leave(e.code);
}
function leave(code) {
  const was = socket;
  socket = was.onopen = was.onmessage = was.onclose = null;
  was.close();
  document.documentElement.dataset.live = 'off';
  if (code === 4403) {
    location.reload();
    return;
  }
  if (code === 4404) {
    retry = setTimeout(probe, 2500); // the content was deleted; by then, the page that deleted it has been redirected
    return;
  }
  shown ||= setTimeout(lost, 700);
  retry = setTimeout(tries > 6 ? probe : connect, retryDelay(tries++));
}
const root = document.documentElement;
function alive() {
  heard = Date.now();
  checks = 0;
  root.dataset.live = 'on';
  clearTimeout(shown);
  shown = 0;
  if (!$('#conn') || $('#conn').hidden) return;
  $('#conn').hidden = true;
  delete root.dataset.lost;
  say('Connected again');
}
function lost() {
  const text = navigator.onLine ? 'Connection lost. Reconnecting…' : "You're offline. Reconnecting…";
  root.dataset.live = 'off';
  root.dataset.lost = '';
  sayAgain();
  $('#conn').hidden = false;
  if ($('#conn').textContent !== text) $('#conn').textContent = text; // announced once it is visible
}
setInterval(() => {
  const quiet = socket ? Date.now() - heard : 0;
  checks = quiet > silent ? checks + 1 : 0;
  if (checks > 1) lost(); // frames that arrived while the page was busy are read before the second check
  if (quiet > patience * given) {
    given *= 2;
    leave();
    dispatchEvent(new Event('stale'));
  }
}, 500);
// A page whose session was deleted, or whose reader was signed out, would retry forever: check with
// a plain request sometimes.
async function probe() {
  try {
    const r = await fetch(location.href, {
      headers: { 'X-Fragment': 'probe' },
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(5000),
    });
    if (r.type === 'opaqueredirect' || r.status === 401 || r.status === 403 || r.status === 404) {
      location.reload();
      return;
    }
  } catch {
    /* offline */
  }
  connect();
}
addEventListener('offline', lost); // until the server answers, which may be on this computer
addEventListener('online', () => {
  if (!marks.list().length) alive();
  else if (!socket) connect();
  else if (checks) leave();
});
connect();
