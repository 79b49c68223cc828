// The inbox keeps its order and layout while it is hovered, touched, or focused by keyboard, so that a click hits
// what the reader saw. Meanwhile the newest list is held back, a pill counts its new entries, and closed requests are
// marked in place.
import './approval.js';
import { $, byId, parse, toast } from './dom.js';
import { holdPatches } from './patch.js';

if ($('#inbox')) watchInbox();

function watchInbox() {
  const grace = 250; // ms after the pointer left: it may just cross a gap, and a click follows its touch
  const answered = 'Answered';
  const reaction = 350; // ms in which a moving hand cannot react to a changed layout
  let held = '';
  let pointed = false;
  let touched = false;
  let shownAt = -reaction;
  let before = [];

  // ---- is it in use? --------------------------------------------------------------------------------------------------
  const isInside = (el) => !!el?.closest?.('#inbox, #inbox-new');
  const isInUse = () =>
    pointed || touched || (isInside(document.activeElement) && document.activeElement.matches(':focus-visible'));
  const release = () =>
    setTimeout(() => {
      if (held && !isInUse()) show();
    }, grace);
  const point = (on) => {
    if (pointed && !on) release();
    pointed = on;
  };
  document.addEventListener('pointerover', (e) => point(isInside(e.target)));
  document.addEventListener('pointerout', (e) => {
    if (!e.relatedTarget) point(false);
  });
  document.addEventListener(
    'pointerdown',
    (e) => {
      touched = isInside(e.target);
    },
    true,
  );
  for (const on of ['pointerup', 'pointercancel'])
    document.addEventListener(
      on,
      () =>
        setTimeout(() => {
          touched = false;
          release();
        }, grace),
      true,
    );
  document.addEventListener('focusout', release);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) point(false);
  });

  // ---- requests: the same as long as they ask for the same --------------------------------------------------------
  const requests = (root) => [...root.querySelectorAll('form.approval')];
  const keyOf = (form) =>
    [form.getAttribute('action'), ...['call', 'stage', 'shown'].map((n) => form.elements[n]?.value)].join();
  function close(form, text) {
    if (form.classList.contains('answered')) {
      if (text === answered) form.querySelector('[role=status]').textContent = text; // the list arrived first
      return;
    }
    const buttons = [...form.querySelectorAll('button[name]')];
    const focused = form.contains(document.activeElement);
    form.classList.add('answered');
    for (const f of [...buttons, ...form.querySelectorAll('textarea')]) f.disabled = true;
    const note = Object.assign(document.createElement('span'), { className: 'grow cut reason', role: 'status' });
    const reason = form.querySelector('.reason'); // replaced by the note, so that nothing moves
    if (reason) {
      note.style.minHeight = `${reason.offsetHeight}px`;
      reason.replaceWith(note);
    } else buttons[0]?.parentElement.append(note);
    note.textContent = text;
    if (focused) (form.closest('li')?.querySelector('.inlink') || $('#main')).focus({ preventScroll: true });
  }
  document.addEventListener('sent', (e) => {
    if (e.target.matches?.('#inbox form.approval')) close(e.target, answered);
  });

  // The reader's own sorting is shown at once, even while they hover.
  let sorting = false;
  document.addEventListener('submit', (e) => {
    if (e.target.matches?.('[data-sorts]')) sorting = true;
  });
  document.addEventListener(
    'refused',
    (e) => {
      if (e.target.matches?.('[data-sorts]')) sorting = false;
    },
    true,
  );

  // ---- a newer list ---------------------------------------------------------------------------------------------------
  holdPatches(([op, id, html]) => {
    if (op !== 'r' || id !== 'inbox') return false;
    held = html;
    isInUse() && !sorting ? compare() : show();
    sorting = false;
    return true;
  });
  const asked = (root) =>
    [...root.querySelectorAll('form.approval, p.ask a[href]')].map((el) => el.getAttribute('href') || keyOf(el));
  function compare() {
    const next = parse(held);
    const here = asked($('#inbox'));
    const open = asked(next);
    for (const form of requests($('#inbox'))) if (!open.includes(keyOf(form))) close(form, 'No longer waiting');
    count(
      [...next.querySelectorAll('li[id]')].reduce(
        (n, li) => n + (asked(li).filter((k) => !here.includes(k)).length || !byId(li.id)),
        0,
      ),
    );
  }
  function count(n) {
    pill.hidden = !n;
    const text = n ? `${n} new` : '';
    if (pill.textContent !== text) pill.textContent = text;
  }
  // show inserts the newest list. An unchanged request keeps its form, with the text typed and parts opened there.
  function show() {
    const next = parse(held);
    const old = requests($('#inbox'));
    const active = document.activeElement;
    before = old.map((f) => [keyOf(f), f.getBoundingClientRect()]);
    shownAt = performance.now();
    held = '';
    for (const form of requests(next)) {
      const same = old.find((f) => keyOf(f) === keyOf(form) && !f.classList.contains('answered'));
      if (same) form.replaceWith(same);
    }
    $('#inbox').replaceWith(next);
    $('#inbox').dataset.moved = '';
    setTimeout(() => {
      if (performance.now() - shownAt >= reaction) delete $('#inbox').dataset.moved;
    }, reaction + 1);
    if (active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
    count(0);
  }
  const pill = parse(
    '<div id="inbox-new" role="status"><button class="pill" type="button" title="Show new items" hidden></button></div>',
  ).firstChild.firstChild;
  $('#inbox').before(pill.parentNode);
  pill.addEventListener('click', (e) => {
    show();
    if (!e.detail) $('#inbox').querySelector('.inlink')?.focus(); // activated by keyboard
  });

  // Ignore a press that began before the list moved: it was meant for another target.
  document.addEventListener(
    'click',
    (e) => {
      const form = e.target.closest?.('#inbox form.approval');
      if (!form || !e.detail || !e.target.closest('button[name]') || !('moved' in $('#inbox').dataset)) return;
      const there = ([, r]) =>
        e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom;
      if (before.find(there)?.[0] === keyOf(form)) return;
      e.preventDefault();
      toast('The list changed as you clicked. Check the request and try again.');
    },
    true,
  );
}
