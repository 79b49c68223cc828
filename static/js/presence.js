// Presence: reports the reader's position, shows those of others, and follows one of them.
import { $, $$, byId, parse, store, stored, toast } from './dom.js';
import { report } from './live.js';
import { isAtEnd, onPatch } from './patch.js';

const me = document.body.dataset.me;
const review = $('#review') && (await import('./review.js')); // already loaded
if ($('#presence') && me) meet();

function meet() {
  const live = new URLSearchParams(document.body.dataset.live);
  const page = live.get('at');
  const within = live.get('in');
  const view = $('#scroll') || $('#main');
  const others = () => [...($('#people')?.children || [])].filter((li) => li.dataset.who !== me);
  const hit = (x, y) => document.elementFromPoint(x, y);

  // ---- the reader's position: sent at most four times a second, and only if others are here -----------------------
  let said = '';
  let due = 0;
  let used = Date.now();
  let typed = 0;
  let typing = '';
  let followed = null;
  const patience = 120_000; // without input for this long, a reader counts as away
  const shows = (row) => (row.classList.contains('d') || row.classList.contains('l') ? 'L' : 'R');
  function spot() {
    const o = { a: document.hidden || Date.now() - used > patience };
    if (followed) o.o = followed;
    if (typing && Date.now() - typed < 5000) o.w = typing;
    const box = view.getBoundingClientRect();
    const y = Math.max(box.top, 0);
    if (review && page === 'changes') {
      const bar = $('.rbar').getBoundingClientRect();
      const el = hit(($('#files') || review.root).getBoundingClientRect().left + 120, bar.bottom + 30);
      const file = el?.closest('.file');
      const row = el?.closest('.r:not(.e)');
      const cur = review.currentRow();
      if (file) {
        o.f = file.dataset.file;
        o.t = `${o.f}~${row ? shows(row) + review.line(row, shows(row)) : ''}`;
      }
      if (cur) {
        o.f = review.fileOf(cur).dataset.file;
        o.l = review.whereIs();
      }
    } else if (page === 'chat') {
      o.t = isAtEnd() ? 'end' : hit(box.left + box.width / 2, y + 60)?.closest('.turn')?.id;
    } else if (page === 'threads') {
      o.t = hit(box.left + box.width / 2, y + 80)?.closest('.thr')?.id;
    }
    return o;
  }
  function tell() {
    due = 0;
    if (!others().length) return;
    const text = JSON.stringify(spot());
    if (text !== said) report((said = text));
  }
  const soon = () => {
    if (!due) due = setTimeout(tell, 250);
  };
  const touch = () => {
    used = Date.now();
    soon();
  };
  for (const on of ['keydown', 'pointerdown', 'focusin']) document.addEventListener(on, touch, { passive: true });
  for (const on of ['scroll', 'visibilitychange', 'selectionchange'])
    document.addEventListener(on, soon, { passive: true, capture: true });
  document.addEventListener('input', (e) => {
    const t = e.target;
    const reply = t.closest?.('.reply');
    if (t.tagName !== 'TEXTAREA') return;
    typing =
      t.id === 'message'
        ? t.id
        : reply
          ? `reply:${reply.closest('.thr').dataset.thread}`
          : t.closest('.comment-form')
            ? 'comment'
            : '';
    typed = Date.now();
    clearTimeout(touch.idle);
    touch.idle = setTimeout(soon, 5000);
    touch();
  });
  document.addEventListener('sent', () => {
    typing = '';
    soon();
  });
  document.addEventListener('focusout', () => {
    typing = '';
    soon();
  });
  setInterval(soon, 30_000);

  // ---- positions of others ----------------------------------------------------------------------------------------
  const chip = (li, tag, more) => {
    const el = document.createElement(tag);
    el.className = `whom ${li.dataset.hue}${more}`;
    const initials = li.querySelector('.face').textContent;
    if (tag === 'u')
      el.dataset.i = initials; // in a line, whose text is copied
    else el.textContent = initials;
    el.title = li.dataset.name + (li.dataset.typing ? ' is writing here' : ' is here');
    return el;
  };
  const marks = new Map(); // marked elements by person
  function mark(id, what, make) {
    const have = marks.get(id);
    if (have?.what === what && (have.el?.isConnected || !what)) return;
    have?.el?.remove();
    marks.set(id, { what, el: what ? make() : null });
  }
  function put(el, into) {
    into?.append(el);
    return into && el;
  }
  function show() {
    const list = others();
    const seen = new Set();
    for (const { dataset: d } of $('#people')?.children || [])
      for (const face of $$(`[data-by="${CSS.escape(d.who)}"] > header > .who:not(.agent, .${d.hue})`))
        face.className = `who ${d.hue}`;
    for (const { dataset: d } of $('#people')?.children || [])
      for (const face of $$(`.face[data-by="${CSS.escape(d.who)}"]:not(.${d.hue})`)) face.className = `face ${d.hue}`;
    for (const el of $$('#presence [data-follow]')) {
      const on = el.dataset.follow === followed;
      const mine = el.dataset.follow === me;
      el.classList.toggle('self', mine);
      el.setAttribute('aria-pressed', on);
      if (el.id) el.textContent = on ? 'Following' : 'Follow';
    }
    byId(`who-${me}`)?.classList.add('self');
    for (const li of list) {
      const d = li.dataset;
      const who = d.who;
      for (const k of ['tree ', 'line ', 'term ', 'text ']) seen.add(k + who);
      const here = d.page === page && d.in === within;
      const reply = d.typing.startsWith('reply:') && d.typing.slice(6);
      mark(`tree ${who}`, d.page === 'changes' && $('#tree') ? d.file : '', () =>
        put(chip(li, 'span', ''), $(`#ft-${d.file} > a`)),
      );
      mark(`term ${who}`, d.page === 'terminals' && $('#terminals') ? d.in : '', () =>
        put(chip(li, 'span', ''), $(`#terminals [data-terminal="${CSS.escape(d.in)}"]`)),
      );
      const at = /([LR])(\d+)(?:-.*)?$/.exec(d.line);
      mark(`line ${who}`, review && here && at ? d.file + d.line + d.typing : '', () =>
        put(chip(li, 'u', d.typing ? ' writes' : ''), review.rowAt(byId(`file-${d.file}`), at[1], +at[2])),
      );
      mark(`text ${who}`, reply || '', () =>
        put(
          Object.assign(document.createElement('p'), { className: 'writes', textContent: `${d.name} is writing…` }),
          byId(`thr-${reply}`),
        ),
      );
    }
    for (const [k, m] of marks)
      if (!seen.has(k)) {
        m.el?.remove();
        marks.delete(k);
      }
    const names = (of) => of.map((li) => li.dataset.name);
    const writers = names(
      list.filter((li) => page === 'chat' && li.dataset.typing === 'message' && li.dataset.in === within),
    );
    say(
      'typing',
      $('#composer')?.parentElement,
      writers.length ? writers.join(' and ') + (writers.length > 1 ? ' are writing…' : ' is writing…') : '',
    );
    const after = names(list.filter((li) => li.dataset.follows === me));
    say(
      'followers',
      $('#presence'),
      after.length ? after.join(', ') + (after.length > 1 ? ' follow you' : ' follows you') : '',
    );
  }
  function say(id, into, text) {
    let el = byId(id);
    if (!text) {
      el?.remove();
      return;
    }
    if (!el) into?.prepend((el = Object.assign(document.createElement('span'), { id })));
    if (el && el.textContent !== text) el.textContent = text;
  }

  // ---- following a person -------------------------------------------------------------------------------------------
  let went = '';
  const keep = (id) => store('follow', id);
  function follow(id) {
    if (id === followed || id === me) {
      stop();
      return;
    }
    stop();
    followed = id;
    went = '';
    const li = byId(`who-${id}`);
    $('#here').open = false;
    document.body.classList.add('following', li.dataset.hue);
    document.body.append(
      parse(
        '<div id="following"><span role="status"></span><span class="dim cut"></span><button type="button" class="btn small">Stop <kbd>Esc</kbd></button></div>',
      ),
    );
    $('#following').firstChild.textContent = `Following ${li.dataset.name}`;
    $('#following').lastChild.onclick = stop;
    keep(id);
    show();
    soon();
    go();
  }
  function stop() {
    if (!followed) return;
    document.body.classList.remove('following', 'h0', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7');
    $('#following').remove();
    followed = null;
    keep('');
    show();
    soon();
  }
  function go() {
    const li = byId(`who-${followed}`);
    if (!li) {
      toast('The person you were following has left.');
      stop();
      return;
    }
    const d = li.dataset;
    $('#following').children[1].textContent = li.querySelector('.doing').textContent.trim();
    if (!d.href.startsWith('/s/')) return;
    if (d.page !== page || d.in !== within) {
      if (went !== d.href) location.assign((went = d.href));
      return;
    }
    if (went === d.top || !d.top) return;
    went = d.top;
    if (page === 'chat' && d.top === 'end') {
      view.scrollTop = view.scrollHeight;
      return;
    }
    const [file, line] = d.top.split('~');
    const f = review && byId(`file-${file}`);
    (f ? (line && review.rowAt(f, line[0], +line.slice(1))) || f : byId(d.top))?.scrollIntoView({ block: 'start' });
  }
  document.addEventListener('click', (e) => {
    const b = e.target.closest?.('#presence [data-follow]');
    if (b) {
      e.preventDefault();
      follow(b.dataset.follow);
    }
  });
  // Any input by the reader ends following.
  const own = (e) => {
    if (!followed || e.target.closest?.('#presence, #following') || /^(Shift|Control|Alt|Meta)$/.test(e.key)) return;
    stop();
    if (e.key === 'Escape') {
      e.preventDefault();
      e.stopPropagation();
    }
  };
  for (const on of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
    document.addEventListener(on, own, { capture: true, passive: on !== 'keydown' });

  onPatch((list) => {
    const ours = list.some(
      (p) => p[1] === 'people' || p[1] === 'presence' || p[1] === 'faces' || String(p[1]).startsWith('who-'),
    );
    if (!ours && !(marks.size && page !== 'chat')) return;
    show();
    if (ours) {
      soon();
      if (followed) go();
    }
  });
  const last = stored('follow');
  keep('');
  if (last && byId(`who-${last}`)) follow(last);
  else show();
  soon();
}
