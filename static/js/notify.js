// Notifications of this browser. One of its tabs, which holds a lock, follows the stream. If a tab shows the
// notification's session, that tab notifies, so that a click leads there.
import { $, $$, store, stored } from './dom.js';

const box = $('#notify-here');
const can = 'Notification' in window && window.isSecureContext && navigator.locks && window.BroadcastChannel;
const here = document.body.dataset.sessionHere;
const allowed = () => can && Notification.permission === 'granted';

// notify returns false where only installed apps may show notifications.
function notify(x) {
  try {
    const n = new Notification(x.title, {
      body: x.text || '',
      tag: `${x.session} ${x.kind}`,
      icon: document.body.dataset.icons.split(' ')[1],
    });
    n.onclick = () => {
      n.close();
      window.focus();
      if (!x.path) return;
      const typed = $$('textarea').some((t) => t.value !== t.defaultValue);
      if (typed && here !== x.session) window.open(x.path);
      else location.assign(x.path);
    };
    return true;
  } catch {
    return false;
  }
}

if (allowed() && (!box || 'on' in box.dataset)) follow();
function follow() {
  const tabs = new BroadcastChannel('ahphub-notify');
  const me = crypto.randomUUID();
  const told = new Set();
  const inSession = (session) => `ahphub-tab ${session} `;
  let asked;
  let answers;
  let answered;
  tabs.onmessage = ({ data: m }) => {
    if (m.who && m.session === here) tabs.postMessage({ has: m.who, tab: me, seen: seen() });
    if (m.has && m.has === asked) {
      answers.push(m);
      answered();
    }
    if (m.tab === me && m.show) notify(m.show);
  };
  const seen = () => document.hasFocus() && !document.hidden;
  const remember = (id) => {
    store('notified', id, true);
  };
  const last = () => stored('notified', true);

  // Each tab of a session holds a separate lock, so that the following tab knows how many will answer.
  if (here) navigator.locks.request(inSession(here) + me, () => new Promise(() => {}));
  async function ask(x) {
    const { held } = await navigator.locks.query();
    const others = held.filter((l) => l.name.startsWith(inSession(x.session)) && !l.name.endsWith(me)).length;
    answers = x.session === here ? [{ tab: me, seen: seen() }] : [];
    const all = answers.length + others;
    if (!others) return;
    await new Promise((done) => {
      answered = () => answers.length >= all && done();
      asked = x.id;
      tabs.postMessage({ who: x.id, session: x.session });
      setTimeout(done, 1000); // a frozen tab does not answer
    });
    asked = '';
  }

  let line = Promise.resolve();
  async function tell(x) {
    if (told.has(x.id)) return;
    told.add(x.id);
    remember(x.id);
    await ask(x);
    if (answers.some((a) => a.seen)) return;
    const to = (answers.find((a) => a.tab === me) || answers[0])?.tab;
    if (to && to !== me) tabs.postMessage({ tab: to, show: x });
    else notify(x);
  }
  function open() {
    const events = new EventSource(`/notifications/stream?after=${encodeURIComponent(last())}`);
    events.onopen = () => {
      document.documentElement.dataset.notify = 'on';
    };
    events.onmessage = (e) => {
      const x = JSON.parse(e.data);
      line = line.then(() => tell(x));
    };
    events.onerror = () => {
      if (events.readyState === 2) setTimeout(open, 10000 * (1 + Math.random()));
    };
  }
  navigator.locks.request('ahphub-notify', () => {
    open();
    return new Promise(() => {});
  }); // until this tab closes
}

if (box) showSettings();

function showSettings() {
  const zone = $('[data-zone]');
  if (zone && !zone.value) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || '';

  const form = box.querySelector('form');
  const button = form.querySelector('button');
  const test = $('#notify-try');
  const state = (text) => {
    $('#notify-state').textContent = text;
  };
  const secure = 'Browsers show notifications only at https addresses and localhost. Open ahphub at one of these.';
  function draw() {
    if (!window.isSecureContext) {
      state(secure);
      return;
    }
    if (!can) {
      state('This browser cannot show notifications.');
      return;
    }
    if (Notification.permission === 'denied') {
      state(
        "Notifications from this address are blocked. Allow them in the browser's site settings, then reload this page.",
      );
      button.hidden = button.value === 'yes';
      return;
    }
    button.hidden = false;
    if (button.value === 'yes') {
      state('Off in this browser.');
      return;
    }
    if (Notification.permission === 'default') {
      state('Enabled, but the browser still needs your permission.');
      button.value = 'yes';
      button.textContent = 'Allow notifications';
      return;
    }
    state('On in this browser.');
    test.hidden = false;
  }
  if ('pushed' in box.dataset) form.hidden = true;
  else draw();
  form.addEventListener('submit', async (e) => {
    if (button.value !== 'yes' || Notification.permission === 'granted') return;
    e.preventDefault();
    if ((await Notification.requestPermission()) !== 'granted') {
      draw();
      return;
    }
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name: 'on', value: 'yes' });
    form.append(field);
    form.submit();
  });
  test.addEventListener('click', () => {
    if (!notify({ title: 'Test notification', text: 'Notifications will look like this.', session: '', kind: 'test' }))
      state('This browser only shows notifications from installed apps.');
  });
}
