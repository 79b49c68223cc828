// The review page: rows, keys, folding, context, threads, live patches. Everything works by event delegation over the
// server's HTML; nothing here renders a diff. Live patches may replace any file or thread at any moment: text that is
// being written is moved from the removed nodes to its line again (rescue).
import { $, $$, byId, may, parse, say, toast } from './dom.js';
import { keys } from './keys.js';
import { onPatch, patch } from './patch.js';

const root = $('#review');
// hooks are set by the other scripts of a review: focused is the text being written.
export const hooks = { focused: null, at: null, comment: null, headed: null, link: null, reveal: null };
const split = () => !!$('.file-body.split', root);
let cur = null;
let anchor = null;
let busy = 0;
let settling = 0;

// ---- rows ----
const fileOf = (el) => el?.closest('.file');
const sideOf = (r) => (r.classList.contains('d') || r.classList.contains('l') ? 'L' : 'R');
const line = (r, side) => {
  // the numbers of both sides share an attribute: "12 14"
  const n = r.dataset.l.trim().split(/ +/);
  return side !== sideOf(r) && n.length < 2 ? 0 : +(side === 'L' ? n[0] : n[n.length - 1]);
};
const rowAt = (file, side, want) => {
  let other = null;
  for (const r of file && want ? file.getElementsByClassName('r') : []) {
    if (r.classList.contains('e') || line(r, side) !== want) continue;
    if (sideOf(r) === side) return r;
    other ||= r;
  }
  return other;
};
const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT, (n) => {
  const c = n.classList;
  if (c.contains('r')) return c.contains('e') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  if (
    c.contains('chunk') ||
    c.contains('file') ||
    c.contains('files') ||
    c.contains('rbody') ||
    c.contains('reviewed-hunk')
  )
    return NodeFilter.FILTER_SKIP;
  return c.contains('file-body') && !n.hidden ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_REJECT;
});
const move = (from, dir, all) => {
  // skips rows of folded, reviewed hunks
  walker.currentNode = from;
  let r;
  do r = dir > 0 ? walker.nextNode() : walker.previousNode();
  while (r && !all && r.closest('.reviewed-hunk:not([open])'));
  return r;
};
// In split view, the other half of a visual row is not a separate step.
const partner = (a, b) =>
  split() &&
  (a.nextElementSibling === b ? a.classList.contains('l') : b.nextElementSibling === a && b.classList.contains('l'));
const step = (dir) => {
  if (!cur?.isConnected) return first();
  let next = move(cur, dir);
  if (next && partner(cur, next)) next = move(next, dir);
  if (next && split() && dir < 0) {
    const left = next.previousElementSibling;
    if (sideOf(cur) === 'L' && left?.matches('.r.l')) next = left;
  }
  return next;
};
const topFile = () => {
  const y = edge() + 8;
  return $$('.file', root).find((f) => f.getBoundingClientRect().bottom > y);
};
const edge = () => $('.rbar').getBoundingClientRect().bottom;
// The row just below the bar, if a file is open there. An undrawn part of the page is hit as a chunk of rows.
const inSight = () => {
  const box = $('#files')?.getBoundingClientRect();
  const y = edge() + 60;
  const hit = box && document.elementFromPoint(box.left + box.width * 0.75, y);
  const chunk = hit?.closest('.chunk');
  return (
    hit?.closest('.r:not(.e)') || (chunk && $$('.r:not(.e)', chunk).find((r) => r.getBoundingClientRect().bottom > y))
  );
};
const first = () => {
  const f = topFile() || $('.file', root);
  if (!f) return null;
  const seen = f.getBoundingClientRect().top < edge() && inSight(); // the middle of a long file
  return seen && fileOf(seen) === f ? seen : move(f, 1);
};

const paint = () => {
  for (const r of $$('.r.sel', root)) r.classList.remove('sel');
  if (!anchor?.isConnected || !cur) return;
  for (const r of between(anchor, cur)) r.classList.add('sel');
};
const between = (a, b) => {
  if (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_PRECEDING) [a, b] = [b, a];
  const out = [a];
  for (let r = a; r !== b && (r = move(r, 1)) && fileOf(r) === fileOf(a); )
    if (!split() || sideOf(r) === sideOf(a)) out.push(r);
  return out;
};
const go = (row, block = 'nearest') => {
  if (!row) return;
  const shut = row.closest('.reviewed-hunk:not([open])');
  if (shut) shut.open = true;
  cur?.classList.remove('cur');
  cur = row;
  row.classList.add('cur');
  row.scrollIntoView({ block });
  if (anchor) paint();
  mark(fileOf(row));
  clearTimeout(settling);
  settling = setTimeout(() => {
    // not at each step of a held key
    hooks.at?.(row);
    const what = row.classList.contains('a') ? 'added ' : row.classList.contains('d') ? 'removed ' : '';
    say(`${what}line ${line(row, sideOf(row))}: ${code(row)}`);
  }, 80);
};
const code = (row) =>
  [...row.childNodes]
    .filter((n) => n.nodeType === 3 || !n.matches('u, .more, .ln, .plus'))
    .map((n) => n.textContent)
    .join('')
    .replace(/\n$/, '');
const goFile = (f) => {
  // change everything before measuring anything
  if (!f) return;
  cur?.classList.remove('cur');
  cur = null;
  walker.currentNode = f;
  const row = walker.nextNode();
  if (row && fileOf(row) === f) {
    cur = row;
    row.classList.add('cur');
  }
  mark(f);
  f.scrollIntoView({ block: 'start' });
};
const nowFile = () => (cur?.isConnected && fileOf(cur)) || (lastFile?.isConnected && lastFile) || topFile();
let lastFile = null;
const mark = (f) => {
  if (f === lastFile) return;
  lastFile = f;
  highlight()?.scrollIntoView({ block: 'nearest' });
};
// highlight marks the current file in the tree and returns its entry, which patches may have replaced.
const highlight = () => {
  const li = lastFile && byId(`ft-${lastFile.dataset.file}`);
  $('.tree li.here')?.classList.remove('here');
  li?.classList.add('here');
  return li;
};
onPatch(highlight);
const hunk = (dir) => {
  const here = cur?.isConnected;
  const changed = (x) => x.classList.contains('a') || x.classList.contains('d');
  let r = here ? cur : first();
  while (here && r && changed(r)) r = move(r, dir);
  while (r && !changed(r)) r = move(r, dir);
  if (r && dir < 0) for (let p; (p = move(r, -1)) && changed(p) && fileOf(p) === fileOf(r); ) r = p;
  go(r, 'center');
};
const nextFile = (dir) => {
  const list = $$('.file', root).filter((f) => f.offsetParent);
  goFile(list[Math.max(0, Math.min(list.length - 1, list.indexOf(nowFile()) + dir))]);
};
const nextUnreviewed = (from) => {
  const list = $$('.file', root);
  const i = list.indexOf(from);
  return [...list.slice(i + 1), ...list.slice(0, i)].find((f) => !f.hasAttribute('data-reviewed'));
};

// ---- requests to the server ----
const send = async (url, body, keepalive) => {
  // keepalive: it is sent even if the page is left
  progress(1);
  try {
    const res = await fetch(url, { method: body ? 'POST' : 'GET', body, keepalive, headers: { 'X-Fragment': '1' } });
    if (!res.ok) throw new Error((await res.text()).slice(0, 300) || res.statusText);
    return res;
  } finally {
    progress(-1);
  }
};
let slow = 0;
const progress = (d) => {
  busy += d;
  clearTimeout(slow);
  if (busy) slow = setTimeout(() => root.setAttribute('aria-busy', 'true'), 300);
  else root.removeAttribute('aria-busy');
};
const fail = (err) => toast(err.message || "The server didn't respond. Try again.", true);

// ---- folding, reviewed ----
const fold = (f, shut) => {
  const fb = $('.file-body', f);
  const b = $('.fold', f);
  if (shut) fb.setAttribute('hidden', 'until-found');
  else fb.removeAttribute('hidden');
  f.classList.toggle('shut', shut);
  b?.setAttribute('aria-expanded', String(!shut));
};
const toggleFold = (f) => f && fold(f, !f.classList.contains('shut'));
root.addEventListener('beforematch', (e) => fold(fileOf(e.target), false));
// painted resolves after the next paint: requests can wait for it.
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
const review = async (f, on) => {
  if (!f || !may('comment')) return;
  const body = new FormData();
  body.set('reviewed', on);
  f.toggleAttribute('data-reviewed', on);
  $('.file-mark', f).setAttribute('aria-pressed', String(on));
  fold(f, on);
  await painted();
  try {
    await send($('.file-mark', f).formAction, body);
  } catch (err) {
    f.toggleAttribute('data-reviewed', !on);
    fold(f, !on);
    fail(err);
  }
};
const reviewAndNext = () => {
  const f = nowFile();
  if (!f) return;
  const next = nextUnreviewed(f);
  review(f, true);
  goFile(next && next !== f ? next : f);
};

// ---- positions of boxes ----
const rowFor = (file, at) => {
  const m = /([LR])(\d+)$/.exec(at);
  return m ? rowAt(file, m[1], +m[2]) : null;
};
const under = (row) =>
  split() && row.classList.contains('l') && row.nextElementSibling?.classList.contains('r')
    ? row.nextElementSibling
    : row;
const whereIs = () => {
  if (!cur) return '';
  const rows = anchor ? between(anchor, cur) : [cur];
  const side = sideOf(rows[rows.length - 1]);
  const nums = rows.map((r) => line(r, side)).filter(Boolean);
  const a = Math.min(...nums);
  const b = Math.max(...nums);
  return a === b ? side + b : `${side}${a}-${side}${b}`;
};
root.addEventListener('submit', (e) => {
  if (!e.submitter?.matches('.file-mark')) return;
  e.preventDefault();
  const f = fileOf(e.submitter);
  review(f, !f.hasAttribute('data-reviewed'));
});

// ---- context ----
const expand = async (h, a, whole) => {
  const [lo, hi] = hidden(h);
  const entire = whole || a.classList.contains('show-all');
  const up = a.classList.contains('show-above');
  await gap(h, entire || !up ? lo : Math.max(lo, hi - 19), entire || up ? hi : Math.min(hi, lo + 19));
};
const gap = async (h, from, to) => {
  // loads rows of a gap, appended to its end if they reach it
  const f = fileOf(h);
  const up = to === hidden(h)[1] && from > hidden(h)[0];
  const rows = parse(
    await (
      await send(
        `${root.dataset.base}/changes/context?${root.dataset.query}&file=${f.dataset.file}&from=${from}&to=${to}`,
      )
    ).text(),
  );
  const at = cur && fileOf(cur) === f ? cur : null; // keep its position on the screen
  const top = at?.getBoundingClientRect().top;
  if (up) h.after(rows);
  else h.before(rows);
  const [a2, b2] = hidden(h);
  if (a2 > b2 && !h.dataset.k) h.remove();
  else if (a2 > b2) {
    h.classList.add('joined');
    for (const b of $$(':scope > button', h)) b.remove();
  } // the bar of a hunk stays
  if (top > 0 && top < innerHeight) $('#main').scrollTop += at.getBoundingClientRect().top - top;
};
const hidden = (h) => {
  // the lines between the rows around a bar
  const next = (dir, el) => {
    walker.currentNode = el;
    let r = dir > 0 ? walker.nextNode() : walker.previousNode();
    while (r && fileOf(r) === fileOf(h) && !line(r, 'R')) r = move(r, dir, true);
    return r && fileOf(r) === fileOf(h) ? line(r, 'R') : 0;
  };
  return [next(-1, h) + 1, h.dataset.t ? +h.dataset.t : next(1, h) - 1];
};
const near = () => {
  const f = nowFile();
  if (!f) return null;
  const bars = $$('.h', f).filter((h) => $(':scope > button', h));
  if (!cur) return bars[0];
  const y = (b) => Math.abs(b.getBoundingClientRect().top - cur.getBoundingClientRect().top);
  return bars.sort((a, b) => y(a) - y(b))[0];
};
const more = async (whole) => {
  const f = nowFile();
  try {
    if ($('.load', f)) return load($('.load', f));
    if (whole)
      for (const h of $$('.h', f)) {
        const a = $(':scope > button', h);
        if (a) await expand(h, a, true);
      }
    else {
      const h = near();
      if (h) await expand(h, $('.show-above, .show-all, .show-below', h));
    }
  } catch (err) {
    fail(err);
  }
};
const load = async (a) => {
  const f = fileOf(a);
  try {
    const body = parse(await (await send(a.href)).text());
    $('.file-body', f).replaceChildren(body);
    $('.file-body', f).className = `file-body${split() ? ' split' : ''}`;
  } catch (err) {
    fail(err);
  }
};

// ---- threads ----
const openThreads = () => $$('.thr', root).filter((t) => $('.thread[data-state=open]', t));
let thread = null;
const nextThread = (dir) => {
  const list = openThreads();
  if (!list.length) return toast('No open threads');
  let i = list.indexOf(thread);
  if (i < 0 && cur)
    i = list.findIndex((t) => cur.compareDocumentPosition(t) & Node.DOCUMENT_POSITION_FOLLOWING) - (dir > 0 ? 1 : 0);
  i = (i + dir + list.length) % list.length;
  thread = list[i];
  fold(fileOf(thread), false);
  const card = $('.thread', thread);
  card.open = true;
  thread.scrollIntoView({ block: 'center' });
  $('summary', card).focus({ preventScroll: true });
  seen(card);
  $('#threadpos').textContent = `thread ${i + 1} of ${list.length}`;
};
const nowThread = () => document.activeElement?.closest('.thr') || (thread?.isConnected && thread);
const seenQueue = new Set();
const seen = (card) => {
  if (!card.hasAttribute('data-unread')) return;
  card.removeAttribute('data-unread');
  seenQueue.add(card.id.slice(7));
  clearTimeout(seen.timer);
  seen.timer = setTimeout(() => {
    const body = new URLSearchParams([...seenQueue].map((id) => ['thread', id]));
    seenQueue.clear();
    send(`${root.dataset.base}/threads/seen`, body).catch(() => {});
  }, 300);
};
const watcher = new IntersectionObserver(
  (list) => {
    for (const e of list)
      if (e.isIntersecting && e.target.hasAttribute('data-unread'))
        setTimeout(() => e.target.isConnected && !document.hidden && seen(e.target), 2500);
  },
  { threshold: 0.6 },
);

// ---- live patches: restore what a patch removed ----
const own = (el) => {
  const me = root.dataset.me;
  for (const e of $$('[data-by]', el)) e.classList.toggle('mine', !!me && e.dataset.by === me);
  for (const t of el.matches?.('time') ? [el] : $$('time[datetime]', el)) t.textContent = ago(t.dateTime);
  for (const t of $$('.thread[data-unread]', el)) watcher.observe(t);
};
const ago = (iso) => {
  const at = new Date(iso);
  const s = (Date.now() - at) / 1000;
  if (s < 60) return 'just now';
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return at.toLocaleString([], { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
};
const settle = (box) => {
  // moves a thread or draft below its line
  const f = byId(`file-${box.dataset.file}`) || byId(`group-${box.dataset.file}`);
  if (!f) return;
  const at = box.dataset.at;
  const row = rowFor(f, at);
  if (!row) {
    $('.file-body', f).prepend(box);
    const { reveal } = hooks;
    if (!at.startsWith('R') || box.sought || !reveal || $('.outdated', box)) return;
    box.sought = true; // in context that is not loaded
    reveal(f, +at.match(/\d+$/)[0]).then(
      () => rowFor(f, at) && settle(box),
      () => {},
    );
    return;
  }
  let after = under(row);
  while (after.nextElementSibling?.matches('.thr, .comment-form')) after = after.nextElementSibling;
  after.after(box);
};
// The Threads page gets its groups, counts and quoted lines from the server: when a thread is
// added, they are rendered again; text being typed stays.
let redrawing = false;
const redrawThreads = async () => {
  if (redrawing) return;
  redrawing = true;
  try {
    const r = await fetch(location.href);
    if (!r.ok) return;
    const now = parse(await r.text());
    $('#pool').replaceChildren();
    for (const part of ['thread-list', 'thread-filter']) {
      const el = $(`#${part}`, now);
      if (el) patch([['r', part, el.outerHTML]]);
    }
  } catch {
    // not connected: the page reloads later
  } finally {
    redrawing = false;
  }
};
const rescue = (node) => {
  if (node.nodeType !== 1) return;
  const boxes = node.matches('.comment-form') ? [] : $$('.comment-form', node);
  for (const form of boxes) settle(form);
  if (hooks.focused && !hooks.focused.isConnected) hooks.focused = null;
  if (hooks.focused && (document.activeElement === document.body || !document.activeElement))
    hooks.focused.focus({ preventScroll: true });
};
// Keep the current line and the selection when a file is replaced.
const keepPlace = (was, now) => {
  if (!cur || cur.isConnected || !was.contains(cur) || !now?.matches('.file')) return;
  const again = (r) => r && rowAt(now, sideOf(r), line(r, sideOf(r)));
  const [at, from] = [again(cur), anchor && again(anchor)];
  const selected = $$('.r.sel', was).map(again);
  cur = at;
  anchor = from;
  lastFile = now;
  at?.classList.add('cur');
  for (const r of selected) r?.classList.add('sel');
};
// A file stays folded or open when a patch replaces it, or removes it and a later one adds it again.
const removed = new Map();
const refold = (was, now) => {
  if (!was.matches?.('.file')) return;
  const shut = was.classList.contains('shut');
  if (!now) removed.set(was.id, shut);
  else if (!now.hasAttribute('data-stale')) fold(now, shut);
};
new MutationObserver((list) => {
  for (const m of list)
    for (const n of m.addedNodes)
      if (n.nodeType === 1 && (n.matches('.files, .file, .thr, .thread, .file-head') || m.target.id === 'pool'))
        added(n);
  for (const m of list)
    for (const n of m.removedNodes) {
      if (n.nodeType !== 1 || !n.matches('.files, .file, .thr, .thread, .file-body')) continue;
      for (const f of n.matches('.files') ? $$('.file', n) : [n]) {
        const now = f.id && byId(f.id);
        refold(f, now);
        keepPlace(f, now || (n.matches('.file-body') ? fileOf(m.target) : null));
      }
      rescue(n);
    }
  const fresh = $$('.thr', $('#pool'));
  if (fresh.length && byId('thread-list')) redrawThreads();
  else for (const box of fresh) settle(box);
}).observe(root, { childList: true, subtree: true });
const headed = (h) => {
  // a head was replaced alone: apply its state to the file
  const f = fileOf(h);
  f.toggleAttribute('data-reviewed', $('.file-mark', h)?.getAttribute('aria-pressed') === 'true');
  $('.fold', h)?.setAttribute('aria-expanded', String(!f.classList.contains('shut')));
  hooks.headed?.(f);
};
const added = (n) => {
  own(n);
  if (removed.has(n.id) && n.isConnected && !n.hasAttribute('data-stale')) fold(n, removed.get(n.id));
  removed.delete(n.id);
  if (n.matches('.file-head') && fileOf(n)) headed(n);
  const card = n.matches('.thread') ? n : $('.thread', n);
  const last = card && !n.matches('.file, .files') && $$('.entry', card).pop();
  if (last && last.dataset.by !== root.dataset.me && card.dataset.state === 'open') {
    card.setAttribute('data-unread', '');
    watcher.observe(card);
  }
};
document.addEventListener('focusin', (e) => {
  hooks.focused = e.target.matches('textarea') ? e.target : null;
});

// ---- mouse ----
root.addEventListener('click', (e) => {
  const t = e.target;
  const f = t.closest('.fold');
  const a = t.closest('.h > button');
  const l = t.closest('.load');
  if (f) return toggleFold(fileOf(f));
  if (e.metaKey || e.ctrlKey || !(a || l)) return;
  e.preventDefault();
  if (a) expand(a.parentElement, a).catch(fail);
  else load(l);
});
$('#tree')?.addEventListener('click', (e) => {
  const li = e.target.closest('li[id]');
  if (!li || e.metaKey || e.ctrlKey) return;
  e.preventDefault();
  goFile(byId(`file-${li.id.slice(3)}`));
  history.replaceState(null, '', `#f-${li.id.slice(3)}`);
  hooks.fileChosen?.();
});
root.addEventListener(
  'scroll',
  (e) => {
    // one scroll bar moves all rows of its file
    if (e.target.classList?.contains('scroll-x'))
      e.target.parentElement.style.setProperty('--sx', `${e.target.scrollLeft}px`);
  },
  { capture: true, passive: true },
);
root.addEventListener(
  'wheel',
  (e) => {
    const dx = e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX;
    const hx =
      Math.abs(dx) > Math.abs(e.shiftKey ? 0 : e.deltaY) && $('.scroll-x', e.target.closest('.file-body') || root);
    if (hx) hx.scrollLeft += dx;
  },
  { passive: true },
);

// ---- filter ----
const filter = (text) => {
  const q = text.trim().toLowerCase();
  const list = [...$('#tree ul').children];
  const dirs = new Set(); // directories with a visible file
  for (const li of list.filter((x) => x.id)) {
    li.hidden = !!q && !li.dataset.path.toLowerCase().includes(q);
    for (let i = 0; !li.hidden && (i = li.dataset.path.indexOf('/', i) + 1) > 0; )
      dirs.add(li.dataset.path.slice(0, i));
  }
  for (const li of list) if (li.dataset.dir) li.hidden = !dirs.has(li.dataset.dir);
};
root.addEventListener('input', (e) => {
  if (e.target.id === 'filter') filter(e.target.value);
});

// ---- shared with the scripts of comments and hunks ----
const currentRow = () => (cur?.isConnected ? cur : null);
const unselect = () => {
  anchor = null;
};
const startRange = (row) => {
  anchor = null;
  paint();
  go(row);
};
const extendRange = (from, row) => {
  anchor = from;
  go(row);
};
const select = (a, b) => {
  anchor = null;
  paint();
  anchor = b !== a ? a : null;
  go(b, 'center');
  if (!anchor) a.classList.add('sel');
};
// ---- keys ----
Object.assign(keys, {
  j: () => go(step(1)),
  k: () => go(step(-1)),
  n: () => hunk(1),
  p: () => hunk(-1),
  J: () => nextFile(1),
  K: () => nextFile(-1),
  u: () => goFile(nextUnreviewed(nowFile())),
  ']': () => nextThread(1),
  '[': () => nextThread(-1),
  v: reviewAndNext,
  o: () => toggleFold(nowFile()),
  s: () => {
    anchor = anchor ? null : cur;
    paint();
  },
  r: () => {
    const t = nowThread();
    if (t) {
      $('.thread', t).open = true;
      $('.reply textarea', t)?.focus();
    }
  },
  x: () => more(false),
  X: () => more(true),
  m: () => $('.seg a:not([aria-current])')?.click(),
  z: () => document.body.classList.toggle('full'),
  '/': () => $('#filter')?.focus(),
  Escape: () => out(),
});
for (const n of '12345') keys[n] = () => $$('.scopes a')[n - 1]?.click();
const out = () => {
  if (anchor) {
    anchor = null;
    paint();
  } else if (cur) {
    cur.classList.remove('cur');
    cur = null;
  }
};

for (const b of $$('[data-copy-from]', root)) {
  b.hidden = !navigator.clipboard;
  b.addEventListener('click', () =>
    send(b.dataset.copyFrom)
      .then((res) => res.text())
      .then((text) => navigator.clipboard.writeText(text))
      .then(() => toast('Copied'), fail),
  );
}

// ---- switch the view, keep the place ----
const place = () => {
  // like a permalink: the reader's current line, or the first in sight
  const row = cur?.isConnected ? cur : inSight();
  const f = row ? fileOf(row) : nowFile();
  return f ? `#f-${f.dataset.file}${row ? sideOf(row) + line(row, sideOf(row)) : ''}` : '';
};
root.addEventListener(
  'click',
  (e) => {
    const a = e.target.closest('.seg a, #ws nav a');
    if (a) a.hash = place();
  },
  { capture: true },
);
const phone = matchMedia('(max-width: 640px)');
const unified = $('.seg a[data-key]');
const unify = () => {
  // by a new address: the files may not be loaded yet
  if (phone.matches && root.dataset.query.includes('view=split') && unified)
    location.replace(unified.href + location.hash);
};
phone.addEventListener('change', unify);
unify();

// ---- start ----
for (const d of $$('.draft', $('#drafts') || root)) settle(d);
for (const fb of $$('.file-body[hidden]', root)) fileOf(fb).classList.add('shut');
own(root);

export {
  code,
  currentRow,
  extendRange,
  fail,
  fileOf,
  filter,
  first,
  fold,
  gap,
  go,
  goFile,
  hidden,
  line,
  nextUnreviewed,
  nowFile,
  nowThread,
  root,
  rowAt,
  rowFor,
  select,
  send,
  settle,
  split,
  startRange,
  under,
  unselect,
  whereIs,
};
