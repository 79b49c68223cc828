// Links of a terminal: only http and https. The target is shown before it is followed: on hover, and after a click
// as a real link, because the text may say anything (OSC 8). Ctrl or ⌘ with a click follows a plain link at once.
import { $ } from './dom.js';
import { term } from './term.js';

const tip = document.createElement('div');
tip.id = 'tip';
tip.hidden = true;
$('main').append(tip);
let kept = false;

function target(uri) {
  try {
    const u = new URL(uri);
    return /^https?:$/.test(u.protocol) ? u : null;
  } catch {
    return null;
  }
}
const span = (cls, text) => {
  const s = document.createElement(cls ? 'b' : 'span');
  s.textContent = text;
  return s;
};
function show(e, uri, keep) {
  const u = target(uri);
  if (!u) return;
  kept = keep;
  const to = document.createElement(keep ? 'a' : 'span');
  const [before, after] =
    u.href.split(u.host, 2).length === 2
      ? [
          u.href.slice(0, u.href.indexOf(u.host, u.protocol.length)),
          u.href.slice(u.href.indexOf(u.host, u.protocol.length) + u.host.length),
        ]
      : ['', ''];
  to.append(span('', before), span('b', u.host), span('', after));
  if (keep) {
    to.href = u.href;
    to.target = '_blank';
    to.rel = 'noopener noreferrer';
    to.addEventListener('click', hide);
  }
  const how = document.createElement('small');
  how.textContent = keep ? 'opens in a new tab' : 'click to open';
  tip.replaceChildren(to, how);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(e.clientX, innerWidth - box.width - 4))}px`;
  tip.style.top = `${e.clientY + 18 + box.height < innerHeight ? e.clientY + 18 : Math.max(4, e.clientY - box.height - 12)}px`;
  if (keep) to.focus();
}
function hide() {
  kept = false;
  tip.hidden = true;
}
export function hover(e, uri) {
  if (!kept) show(e, uri, false);
}
export function leave() {
  if (!kept) hide();
}
export function go(e, uri, hidden) {
  const u = target(uri);
  if (!u) return;
  if (!hidden && (e.ctrlKey || e.metaKey)) {
    open(u.href, '_blank', 'noopener,noreferrer');
    return;
  }
  show(e, uri, true);
}
document.addEventListener(
  'pointerdown',
  (e) => {
    if (kept && !tip.contains(e.target)) hide();
  },
  true,
);
tip.addEventListener('keydown', (e) => {
  if (e.key === 'Escape') {
    hide();
    term.focus();
  }
});
term.onScroll(hide);
term.loadAddon(new WebLinksAddon.WebLinksAddon((e, uri) => go(e, uri, false), { hover, leave }));
