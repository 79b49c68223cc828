// The script of every page: the patch stream, forms without a reload, keys, themes. No dependencies.
(() => {
'use strict';
const $ = (id) => document.getElementById(id);
const policy = window.trustedTypes ? trustedTypes.createPolicy('ahphub', { createHTML: (s) => s }) : { createHTML: (s) => s };
const parse = (html) => {
  const t = document.createElement('template');
  t.innerHTML = policy.createHTML(html);
  return t.content;
};
const app = (window.ahphub = { on: [], keys: {}, patch, parse, toast, policy });

// ---- patches ----------------------------------------------------------------------------------------------------
// Text, open parts and selections inside an element survive its replacement, by id or name.
function carry(from, to) {
  for (const d of from.querySelectorAll('details[id]')) {
    const n = to.querySelector('#' + CSS.escape(d.id));
    if (n) n.open = d.open;
  }
  const active = document.activeElement;
  for (const f of from.querySelectorAll('input,textarea,select')) {
    const dirty = f.type === 'checkbox' || f.type === 'radio' ? f.checked !== f.defaultChecked : f.value !== f.defaultValue;
    if (f.type === 'hidden' || (!dirty && f !== active)) continue;
    const n = f.id ? to.querySelector('#' + CSS.escape(f.id))
      : [...to.querySelectorAll(f.tagName)].find((x) => x.name === f.name && (f.type !== 'radio' || x.value === f.value));
    if (!n) continue;
    if (dirty && f.tagName !== 'SELECT') { n.value = f.value; n.checked = f.checked; }
    if (f === active) queueMicrotask(() => { n.focus({ preventScroll: true }); if (f.setSelectionRange && /text|search|area/.test(f.type)) n.setSelectionRange(f.selectionStart, f.selectionEnd); });
  }
  if (active && active !== document.body && from.contains(active) && !/^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName) && active.id) {
    queueMicrotask(() => $(active.id)?.focus({ preventScroll: true }));
  }
}
function replace(old, content) {
  const el = content.firstElementChild;
  if (el) {
    if (old.tagName === 'DETAILS' && el.tagName === 'DETAILS') el.open = old.open;
    carry(old, el);
  }
  old.replaceWith(content);
}
// Scrolling records whether the reader is at the end: measuring at each patch would lay the page out each time. A
// page that scrolled to its end itself gets the event a frame later, and may have grown by then: only scrolling up leaves the end.
const view = $('scroll') || $('main');
let end = true, top = 0;
app.atEnd = () => end;
app.toEnd = () => { end = true; view.scrollTop = view.scrollHeight; };
app.look = (scrolled) => {
  const now = view.scrollTop;
  end = view.scrollHeight - now - view.clientHeight < 80 || !!scrolled && end && now >= top;
  top = now;
};
view?.addEventListener('scroll', app.look, { passive: true });
function patch(list) {
  let fresh = 0, grew = false;
  for (const p of list) {
    const [op, id] = p;
    if (op === 's') { say(id); continue; }
    if (app.hold?.(p)) continue;
    const el = $(id);
    if (!el) continue;
    if (op === 'x') { el.remove(); continue; }
    grew ||= !!el.closest('#turns');
    if (op === 'i' || op === 'd') { grow(el, p[2], p[3], op === 'd'); continue; }
    const content = parse(p[2]);
    if (op === 'r') { replace(el, content); continue; }
    for (const c of [...content.children]) {
      const have = c.id && $(c.id);
      if (have) replace(have, wrap(c));
      else { op === 'a' ? el.append(c) : el.before(c); fresh++; }
    }
  }
  if ((fresh || grew) && !end && $('new-pill')) pill(fresh);
  for (const f of app.on) f(list);
}
// A large batch is applied over several frames, so that keys and scrolling keep working. In a hidden tab
// there are no frames, and no reader waits for one.
const atOnce = 8000; // characters of HTML in one frame
let queue = [], draining = 0;
const size = (p) => (typeof p.at(-1) === 'string' ? p.at(-1).length : 0) + 40;
function enqueue(list) {
  queue.push(...list);
  if (!draining) drain();
}
function drain() {
  draining = 0;
  let n = 0, sum = 0;
  while (n < queue.length && (n === 0 || document.hidden || sum + size(queue[n]) <= atOnce)) sum += size(queue[n++]);
  patch(queue.splice(0, n));
  if (queue.length) draining = requestAnimationFrame(drain);
}
document.addEventListener('visibilitychange', () => { if (draining) { cancelAnimationFrame(draining); drain(); } });
const wrap = (el) => { const f = document.createDocumentFragment(); f.append(el); return f; };
function grow(el, depth, html, drop) {
  for (; depth > 0 && el.lastElementChild; depth--) el = el.lastElementChild;
  if (drop) { while (el.lastChild && el.lastChild.nodeType !== 1) el.lastChild.remove(); el.lastChild?.remove(); }
  const last = el.lastChild;
  if (last && last.nodeType === 3 && !/[<&]/.test(html)) last.appendData(html);
  else el.append(parse(html));
}
let said = '';
function say(text) {
  if (!$('said') || text === said) return;
  $('said').textContent = said = text;
}
function pill(n) {
  const b = $('new-pill');
  b.dataset.n = (+b.dataset.n || 0) + n;
  b.textContent = (b.dataset.n > 0 ? b.dataset.n + ' new ↓' : 'New text ↓');
  b.hidden = false;
}
function toast(text, bad) {
  const d = document.createElement('div');
  d.textContent = text;
  if (bad) d.className = 'note bad';
  for (const t of $('toast').children) if (t.textContent === text) t.remove();
  $('toast').append(d);
  setTimeout(() => d.remove(), 8000);
}

// ---- the stream -------------------------------------------------------------------------------------------------
// One WebSocket a page. marks holds the newest number of each room; after a break the stream continues from there. The
// server sends something every 2 s: silence is shown, and after a longer one the socket is closed. That takes longer
// each time, as a large frame on a slow line is silent too.
const marks = new Map(), silent = 3600, patience = 12000; // ms
let socket, tries = 0, told, heard = 0, checks = 0, given = 1, shown, retry;
// The page's own report; it is sent again after a break.
app.tell = (text) => { told = text; if (socket?.readyState === 1) socket.send(text); };
function connect() {
  clearTimeout(retry);
  const q = [...marks.values()].map((m) => 'f=' + encodeURIComponent(m)).join('&');
  if (!q) return;
  const at = new URLSearchParams(document.body.dataset.live);
  at.delete('f');
  heard = Date.now();
  socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/live?' + q + '&' + at);
  socket.onopen = () => { tries = 0; alive(); if (told) socket.send(told); };
  socket.onmessage = (e) => {
    alive();
    const [feed, n, list, mark] = JSON.parse(e.data);
    if (!feed) return; // a heartbeat
    given = 1;
    for (const [name, m] of marks) if (m.endsWith('.' + feed, m.lastIndexOf('~'))) marks.set(name, m.slice(0, m.lastIndexOf('~') + 1) + n);
    if (mark) marks.set(mark.split('~')[0], mark);
    enqueue(list);
    title();
  };
  socket.onclose = (e) => leave(e.code);
}
function leave(code) {
  const was = socket;
  socket = was.onopen = was.onmessage = was.onclose = null;
  was.close();
  document.documentElement.dataset.live = 'off';
  if (code === 4403) { location.reload(); return; }
  shown ||= setTimeout(lost, 700);
  retry = setTimeout(tries > 6 ? probe : connect, Math.min(200 * 2 ** tries++, 5000) * (0.75 + Math.random() / 2));
}
const root = document.documentElement;
function alive() {
  heard = Date.now();
  checks = 0;
  root.dataset.live = 'on';
  clearTimeout(shown);
  shown = 0;
  if (!$('conn') || $('conn').hidden) return;
  $('conn').hidden = true;
  delete root.dataset.lost;
  say('Connected again');
}
function lost() {
  const text = navigator.onLine ? 'Connection lost. Reconnecting…' : "You're offline. Reconnecting…";
  root.dataset.live = 'off';
  root.dataset.lost = said = '';
  $('conn').hidden = false;
  if ($('conn').textContent !== text) $('conn').textContent = text; // announced once it is visible
}
setInterval(() => {
  const quiet = socket ? Date.now() - heard : 0;
  checks = quiet > silent ? checks + 1 : 0;
  if (checks > 1) lost(); // frames that arrived while the page was busy are read before the second check
  if (quiet > patience * given) { given *= 2; leave(); dispatchEvent(new Event('stale')); }
}, 500);
// A page whose session is gone, or whose reader was signed out, would retry forever: check with a plain request now and then.
async function probe() {
  try {
    const r = await fetch(location.href, { headers: { 'X-Fragment': 'probe' }, method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(5000) });
    if (r.type === 'opaqueredirect' || r.status === 401 || r.status === 403 || r.status === 404) { location.reload(); return; }
  } catch { /* offline */ }
  connect();
}
addEventListener('offline', lost); // until the server answers, which may be on this computer
addEventListener('online', () => { if (!marks.size) alive(); else if (!socket) connect(); else if (checks) leave(); });
for (const m of new URLSearchParams(document.body.dataset.live || '').getAll('f')) marks.set(m.split('~')[0], m);
connect();

// The number of sessions that wait stands in the tab's title and icon; the rail carries it.
const plain = document.body.dataset.title;
function title() {
  const list = $('rail-list') || $('inbox');
  if (!list || list.dataset.needs === undefined) return;
  const n = +list.dataset.needs, t = (n ? '(' + n + ') ' : '') + ($('title')?.textContent || plain) + ' · ahphub';
  if (document.title !== t) {
    document.title = t;
    $('favicon').href = document.body.dataset.icons.split(' ')[n ? 1 : 0];
  }
  for (const b of document.querySelectorAll('[data-needs-badge]')) { b.textContent = n; b.hidden = !n; }
}
app.on.push((list) => {
  if (list.some((p) => p[1] === 'rail-list' || p[1] === 'chats')) mark();
});
function mark() {
  const here = document.body.dataset.sessionHere;
  for (const a of document.querySelectorAll('.rail-item[data-session]')) a.dataset.session === here ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current');
  const chat = new URLSearchParams(document.body.dataset.live).get('in');
  for (const a of document.querySelectorAll('#chats a')) a.pathname.endsWith('/c/' + chat) ? a.setAttribute('aria-current', 'page') : a.removeAttribute('aria-current');
}

document.querySelector('.rail-item[aria-current]')?.scrollIntoView({ block: 'nearest' });

// ---- forms ------------------------------------------------------------------------------------------------------
// A form with data-stay is sent without leaving the page: the stream brings what it changed. Without JavaScript the
// same form answers 303 to the same page.
document.addEventListener('submit', async (e) => {
  const form = e.target;
  if (!form.matches('form[data-stay]') || e.defaultPrevented) return;
  e.preventDefault();
  const body = new FormData(form, e.submitter), buttons = [...form.querySelectorAll('button')];
  buttons.forEach((b) => { b.setAttribute('aria-disabled', 'true'); });
  const wrong = await app.post(e.submitter?.getAttribute('formaction') || form.action, form.enctype === 'multipart/form-data' ? body : new URLSearchParams(body));
  if (wrong) toast(wrong, true); else form.closest('details.menu')?.removeAttribute('open');
  form.dispatchEvent(new CustomEvent(wrong ? 'refused' : 'sent', { bubbles: !wrong }));
  buttons.forEach((b) => { b.removeAttribute('aria-disabled'); });
});
// post sends a form and returns the error, '' for none.
app.post = async (to, body, more) => {
  const busy = setTimeout(() => $('busy').classList.add('on'), 300);
  try {
    const r = await fetch(to, { method: 'POST', body, headers: { 'X-Fragment': 'form' }, redirect: 'manual', ...more });
    return r.ok ? '' : await r.text() || 'Something went wrong. Reload the page and try again.';
  } catch { return "Can't reach the server. Your message hasn't been sent."; } finally { clearTimeout(busy); $('busy').classList.remove('on'); }
};
// A one-time token is in the fragment, which is never sent to a server: move it into the form and out of the address.
const now = document.querySelector('form[data-send=now]');
if (now && location.hash.length > 1) {
  now.token.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, '', location.pathname + location.search);
  if (now.checkValidity()) now.requestSubmit();
}
// A textarea grows with its text; where the style sheet does that, nothing is measured at each key.
const grows = CSS.supports('field-sizing', 'content');
function fit(t) { if (grows) return; t.style.height = 'auto'; t.style.height = Math.min(t.scrollHeight + 2, innerHeight * 0.4) + 'px'; }
document.addEventListener('input', (e) => { if (e.target.matches('textarea[data-fit]')) fit(e.target); });
document.querySelectorAll('textarea[data-fit]').forEach((t) => { if (t.value) fit(t); });

// ---- keys -------------------------------------------------------------------------------------------------------
// Other scripts add to app.keys: 'x', 'g d', 'Ctrl+Enter' → function. Off in text fields; a setting turns all of them off.
let chord = '';
const off = () => { try { return localStorage.getItem('keys') === 'off'; } catch { return false; } };
const go = (href) => { if (href) location.assign(href); };
const tab = (k) => document.querySelector(`[data-go="${k}"]`)?.href;
Object.assign(app.keys, {
  '?': () => $('help')?.showModal(),
  'g h': () => go('/'), 'g c': () => go(tab('g c')), 'g d': () => go(tab('g d')), 'g t': () => go(tab('g t')), 'g r': () => go(tab('g r')),
  'g a': () => go(document.querySelector('.rail-item .st.need')?.closest('a').href || '/'),
  '/': () => document.querySelector('input[type=search]')?.focus(),
  'z': () => document.querySelector('[data-pane-toggle]')?.click(),
});
// Esc closes the menu that is open and returns the focus to its button.
function shutMenu() {
  const m = [...document.querySelectorAll('details.menu[open]')].pop();
  if (!m) return false;
  m.open = false;
  m.querySelector('summary').focus();
  return true;
}
document.addEventListener('keydown', (e) => {
  if (e.isComposing) return;
  if ((e.ctrlKey || e.metaKey) && e.key === 'k' && !e.shiftKey) { e.preventDefault(); palette(); return; }
  const t = e.target;
  if (t.closest?.('input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]')) {
    if (e.key === 'Escape' && !shutMenu()) t.blur();
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && t.tagName === 'TEXTAREA' && t.form && !t.form.id && !e.defaultPrevented) { e.preventDefault(); t.form.requestSubmit(); }
    return;
  }
  if (e.key === 'Escape' && shutMenu()) { e.preventDefault(); return; }
  if (off() || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  const k = chord ? chord + ' ' + e.key : e.key;
  chord = '';
  if (k === 'g') { chord = 'g'; setTimeout(() => { chord = ''; }, 1500); return; }
  const f = app.keys[k];
  if (f) { e.preventDefault(); f(e); }
});
document.addEventListener('click', (e) => {
  const t = e.target;
  if (t.closest?.('[data-help]') && $('help')) { e.preventDefault(); $('help').showModal(); }
  const img = t.closest?.('a[data-image]');
  const from = $(t.closest?.('[data-copy]')?.dataset.copy);
  if (from) { from.select(); navigator.clipboard?.writeText(from.value).then(() => toast('Copied'), () => {}); } // refused: it is selected
  if (img) { e.preventDefault(); const i = new Image(); i.src = img.href; i.alt = img.textContent; i.className = 'remote'; i.referrerPolicy = 'no-referrer'; img.replaceWith(i); }
  for (const m of document.querySelectorAll('details.menu[open]')) if (!m.contains(t)) m.open = false;
  if (t.id === 'new-pill') app.toEnd();
});
document.addEventListener('change', (e) => {
  if (e.target.id === 'keys-on') { try { localStorage.setItem('keys', e.target.checked ? 'on' : 'off'); } catch { /* private window */ } }
  if (e.target.matches?.('[data-submit]')) e.target.form.requestSubmit();
});
if ($('keys-on')) $('keys-on').checked = !off();

// Ctrl K: sessions, files and commands (js/palette.js).
function palette() { import(document.body.dataset.palette).then((m) => m.open(), () => toast("Can't reach the server.", true)); }
})();
