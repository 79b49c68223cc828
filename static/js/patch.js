// Live patches insert the server's HTML into the elements that they name. Text typed there, open parts and selections
// stay.
import { $, $$, byId, parse, say } from './dom.js';
import { takeBatch } from './feed.js';

// Text, open parts and selections inside an element survive its replacement, matched by id or name.
function carry(from, to) {
  for (const d of $$('details[id]', from)) {
    const n = $(`#${CSS.escape(d.id)}`, to);
    if (n) n.open = d.open;
  }
  const active = document.activeElement;
  for (const f of $$('input,textarea,select', from)) {
    const dirty =
      f.type === 'checkbox' || f.type === 'radio' ? f.checked !== f.defaultChecked : f.value !== f.defaultValue;
    if (f.type === 'hidden' || (!dirty && f !== active)) continue;
    const n = f.id
      ? $(`#${CSS.escape(f.id)}`, to)
      : $$(f.tagName, to).find((x) => x.name === f.name && (f.type !== 'radio' || x.value === f.value));
    if (!n) continue;
    if (dirty && f.tagName !== 'SELECT') {
      n.value = f.value;
      n.checked = f.checked;
    }
    if (f === active)
      queueMicrotask(() => {
        n.focus({ preventScroll: true });
        if (f.setSelectionRange && /text|search|area/.test(f.type))
          n.setSelectionRange(f.selectionStart, f.selectionEnd);
      });
  }
  if (
    active &&
    active !== document.body &&
    from.contains(active) &&
    !/^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName) &&
    active.id
  ) {
    queueMicrotask(() => byId(active.id)?.focus({ preventScroll: true }));
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
// Scrolling records whether the reader is at the end: measuring at each patch would force a layout each time. After
// scrolling to its end, the page gets the event a frame later, and may have grown: only scrolling up leaves the end.
const view = $('#scroll') || $('#main');
let end = true;
let top = 0;
export const isAtEnd = () => end;
export function scrollToEnd() {
  end = true;
  view.scrollTop = view.scrollHeight;
}
export function measureEnd(scrolled) {
  const now = view.scrollTop;
  end = view.scrollHeight - now - view.clientHeight < 80 || (!!scrolled && end && now >= top);
  top = now;
}
view?.addEventListener('scroll', measureEnd, { passive: true });

// onPatch calls f with each list of applied patches.
const listeners = [];
export const onPatch = (f) => {
  listeners.push(f);
};
// holdPatches calls f with each patch first; if f returns true, the patch is not applied.
let hold;
export const holdPatches = (f) => {
  hold = f;
};

export function patch(list) {
  let fresh = 0;
  let grew = false;
  for (const p of list) {
    const [op, id] = p;
    if (op === 's') {
      say(id);
      continue;
    }
    if (hold?.(p)) continue;
    const el = byId(id);
    if (!el) continue;
    if (op === 'x') {
      el.remove();
      continue;
    }
    grew ||= !!el.closest('#turns');
    if (op === 'i' || op === 'd') {
      grow(el, p[2], p[3], op === 'd');
      continue;
    }
    const content = parse(p[2]);
    if (op === 'r') {
      replace(el, content);
      continue;
    }
    for (const c of [...content.children]) {
      const have = c.id && byId(c.id);
      if (have) replace(have, wrap(c));
      else {
        op === 'a' ? el.append(c) : el.before(c);
        fresh++;
      }
    }
  }
  if ((fresh || grew) && !end && $('#new-pill')) pill(fresh);
  for (const f of listeners) f(list);
}
// A large batch is applied over several frames, so that keys and scrolling keep working. In a hidden tab
// there are no frames, so all is applied at once.
const queue = [];
let draining = 0;
export function enqueue(list) {
  queue.push(...list);
  if (!draining) drain();
}
function drain() {
  draining = 0;
  patch(takeBatch(queue, document.hidden));
  if (queue.length) draining = requestAnimationFrame(drain);
}
document.addEventListener('visibilitychange', () => {
  if (draining) {
    cancelAnimationFrame(draining);
    drain();
  }
});
const wrap = (el) => {
  const f = document.createDocumentFragment();
  f.append(el);
  return f;
};
function grow(el, depth, html, drop) {
  for (; depth > 0 && el.lastElementChild; depth--) el = el.lastElementChild;
  if (drop) {
    while (el.lastChild && el.lastChild.nodeType !== 1) el.lastChild.remove();
    el.lastChild?.remove();
  }
  const last = el.lastChild;
  if (last && last.nodeType === 3 && !/[<&]/.test(html)) last.appendData(html);
  else el.append(parse(html));
}
function pill(n) {
  const b = $('#new-pill');
  b.dataset.n = (+b.dataset.n || 0) + n;
  b.textContent = b.dataset.n > 0 ? `${b.dataset.n} new ↓` : 'New text ↓';
  b.hidden = false;
}
