// The review page: keys, comment boxes, folding, context, permalinks. Everything works by event delegation over the
// server's HTML; nothing here renders a diff. Live patches may replace any file or thread at any moment: what a person
// is writing is taken out of the removed nodes and put back under its line (rescue).
'use strict';
(() => {
  document.addEventListener('click', e => {
    const from = document.getElementById(e.target.closest?.('[data-copy]')?.dataset.copy);
    if (!from) return;
    from.select();
    navigator.clipboard?.writeText(from.value).then(() => window.ahphub.toast('Link copied.'), () => {}); // refused: it is selected
  });
  const root = document.getElementById('review');
  if (!root) return;
  const $ = (s, el = document) => el.querySelector(s);
  const $$ = (s, el = document) => [...el.querySelectorAll(s)];
  const split = () => !!$('.fb.split', root);
  const may = right => document.body.classList.contains('may-' + right);
  const { parse: fragment, toast, keys: all } = window.ahphub;
  let cur = null, anchor = null, focused = null, busy = 0, settling = 0;

  // ---- rows ----
  const fileOf = el => el?.closest('.file');
  const sideOf = r => r.classList.contains('d') || r.classList.contains('l') ? 'L' : 'R';
  const line = (r, side) => { // numbers of both sides share an attribute: "12 14"
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
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT, n => {
    const c = n.classList;
    if (c.contains('r')) return c.contains('e') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
    if (c.contains('ck') || c.contains('file') || c.contains('files') || c.contains('rbody') || c.contains('hs')) return NodeFilter.FILTER_SKIP;
    return c.contains('fb') && !n.hidden ? NodeFilter.FILTER_SKIP : NodeFilter.FILTER_REJECT;
  });
  const move = (from, dir, all) => { // rows of a hunk that was reviewed and is shut are no steps
    walker.currentNode = from;
    let r;
    do r = dir > 0 ? walker.nextNode() : walker.previousNode(); while (r && !all && r.closest('.hs:not([open])'));
    return r;
  };
  // In split view the other half of a visual row is not a step of its own.
  const partner = (a, b) => split() && (a.nextElementSibling === b ? a.classList.contains('l') : b.nextElementSibling === a && b.classList.contains('l'));
  const step = dir => {
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
    return $$('.file', root).find(f => f.getBoundingClientRect().bottom > y);
  };
  const first = () => {
    const f = topFile() || $('.file', root);
    return f && move(f, 1);
  };
  const edge = () => $('.rbar').getBoundingClientRect().bottom;

  const paint = () => {
    for (const r of $$('.r.sel', root)) r.classList.remove('sel');
    if (!anchor?.isConnected || !cur) return;
    for (const r of between(anchor, cur)) r.classList.add('sel');
  };
  const between = (a, b) => {
    if (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_PRECEDING) [a, b] = [b, a];
    const out = [a];
    for (let r = a; r !== b && (r = move(r, 1)) && fileOf(r) === fileOf(a);) if (!split() || sideOf(r) === sideOf(a)) out.push(r);
    return out;
  };
  const go = (row, block = 'nearest') => {
    if (!row) return;
    const shut = row.closest('.hs:not([open])');
    if (shut) shut.open = true;
    cur?.classList.remove('cur');
    cur = row;
    row.classList.add('cur');
    row.scrollIntoView({ block });
    if (anchor) paint();
    mark(fileOf(row));
    clearTimeout(settling);
    settling = setTimeout(() => shared.at?.(row), 80); // not at each step of a held key
  };
  const goFile = f => { // everything is changed before anything is measured
    if (!f) return;
    cur?.classList.remove('cur');
    cur = null;
    walker.currentNode = f;
    const row = walker.nextNode();
    if (row && fileOf(row) === f) { cur = row; row.classList.add('cur'); }
    mark(f);
    f.scrollIntoView({ block: 'start' });
  };
  const nowFile = () => (cur?.isConnected && fileOf(cur)) || lastFile?.isConnected && lastFile || topFile();
  let lastFile = null;
  const mark = f => {
    if (f === lastFile) return;
    lastFile = f;
    $('.tree li.at')?.classList.remove('at');
    const li = f && document.getElementById('ft-' + f.dataset.file);
    if (li) { li.classList.add('at'); li.scrollIntoView({ block: 'nearest' }); }
  };
  const hunk = dir => {
    const here = cur?.isConnected, changed = x => x.classList.contains('a') || x.classList.contains('d');
    let r = here ? cur : first();
    while (here && r && changed(r)) r = move(r, dir);
    while (r && !changed(r)) r = move(r, dir);
    if (r && dir < 0) for (let p; (p = move(r, -1)) && changed(p) && fileOf(p) === fileOf(r);) r = p;
    go(r, 'center');
  };
  const nextFile = dir => {
    const list = $$('.file', root).filter(f => f.offsetParent);
    goFile(list[Math.max(0, Math.min(list.length - 1, list.indexOf(nowFile()) + dir))]);
  };
  const nextUnreviewed = from => {
    const list = $$('.file', root), i = list.indexOf(from);
    return [...list.slice(i + 1), ...list.slice(0, i)].find(f => !f.hasAttribute('data-reviewed'));
  };

  // ---- talking to the server ----
  const send = async (url, body) => {
    progress(1);
    try {
      const res = await fetch(url, { method: body ? 'POST' : 'GET', body, headers: { 'X-Fragment': '1' } });
      if (!res.ok) throw new Error((await res.text()).slice(0, 300) || res.statusText);
      return res;
    } finally { progress(-1); }
  };
  let slow = 0;
  const progress = d => {
    busy += d;
    clearTimeout(slow);
    if (busy) slow = setTimeout(() => root.setAttribute('aria-busy', 'true'), 300);
    else root.removeAttribute('aria-busy');
  };
  const fail = err => toast(err.message || 'The host did not answer. Try again.', true);

  // ---- folding, reviewed ----
  const fold = (f, shut) => {
    const fb = $('.fb', f), b = $('.fold', f);
    if (shut) fb.setAttribute('hidden', 'until-found'); else fb.removeAttribute('hidden');
    f.classList.toggle('shut', shut);
    b.setAttribute('aria-expanded', String(!shut));
  };
  const toggleFold = f => f && fold(f, !f.classList.contains('shut'));
  root.addEventListener('beforematch', e => fold(fileOf(e.target), false));
  const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done))); // asking the server can wait that long
  const review = async (f, on) => {
    if (!f || !may('comment')) return;
    const body = new FormData();
    body.set('reviewed', on);
    f.toggleAttribute('data-reviewed', on);
    $('.rv', f).setAttribute('aria-pressed', String(on));
    fold(f, on);
    await painted();
    try { await send($('.rv', f).formAction, body); } catch (err) { f.toggleAttribute('data-reviewed', !on); fold(f, !on); fail(err); }
  };
  const reviewAndNext = () => {
    const f = nowFile();
    if (!f) return;
    const next = nextUnreviewed(f);
    review(f, true);
    goFile(next && next !== f ? next : f);
  };

  // ---- comments ----
  const place = (form, row, file) => {
    if (row) {
      const right = split() && row.classList.contains('l') && row.nextElementSibling?.classList.contains('r') ? row.nextElementSibling : row;
      right.after(form);
    } else if (file) $('.fb', file).prepend(form);
  };
  const openForm = (file, at) => {
    if (!file || !may('comment')) return;
    const key = file.dataset.file;
    const old = $(`.cf[data-file="${key}"][data-at="${at}"]`, root);
    if (old) { $('textarea', old).focus(); return; }
    const form = $('#comment-form').content.firstElementChild.cloneNode(true);
    form.dataset.file = key;
    form.dataset.at = at;
    form.elements.file.value = key;
    form.elements.at.value = at;
    $('textarea', form).id = 'cf-' + key + at;
    $('.where', form).textContent = at ? words(at) : 'on the whole file';
    $('.suggest', form).hidden = !at.startsWith('R');
    fold(file, false);
    place(form, rowFor(file, at), file);
    focused = $('textarea', form);
    focused.focus({ preventScroll: true });
    form.scrollIntoView({ block: 'nearest' });
  };
  const words = at => 'on ' + at.replace('-', ' to ').replaceAll('L', 'old line ').replaceAll('R', 'line ');
  const rowFor = (file, at) => {
    const m = /([LR])(\d+)$/.exec(at);
    return m ? rowAt(file, m[1], +m[2]) : null;
  };
  const whereIs = () => {
    if (!cur) return '';
    const rows = anchor ? between(anchor, cur) : [cur], side = sideOf(rows[rows.length - 1]);
    const nums = rows.map(r => line(r, side)).filter(Boolean);
    const a = Math.min(...nums), b = Math.max(...nums);
    return a === b ? side + b : `${side}${a}-${side}${b}`;
  };
  const comment = () => {
    if (!cur?.isConnected) go(first());
    if (cur) { openForm(fileOf(cur), whereIs()); anchor = null; }
  };
  const code = row => [...row.childNodes].filter(n => n.nodeType === 3 || !n.matches('u, .more, .ln')).map(n => n.textContent).join('').replace(/\n$/, '');
  const suggest = form => { // what the lines read, to be changed
    const [a, b] = form.dataset.at.slice(1).split('-R').map(Number), text = form.elements.text, lines = [];
    for (let n = a; n <= (b || a); n++) {
      const row = rowAt(fileOf(form), 'R', n);
      if (!row) return toast('Show all of these lines first.', true);
      lines.push(code(row));
    }
    let marks = '```';
    while (lines.some(l => l.includes(marks))) marks += '`';
    const was = text.value.replace(/\s+$/, ''), start = was ? was.length + 2 : 0, fence = marks + 'suggestion\n';
    text.value = (was ? was + '\n\n' : '') + fence + lines.join('\n') + '\n' + marks + '\n';
    text.focus();
    text.setSelectionRange(start + fence.length, start + fence.length + lines.join('\n').length);
    autosave(form);
  };
  const timers = new WeakMap();
  const autosave = form => {
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => save(form, 'save').catch(() => { $('.saved', form).textContent = 'Not saved: no connection'; }), 700));
  };
  const save = async (form, what) => {
    clearTimeout(timers.get(form));
    timers.delete(form);
    const text = form.elements.text.value.trim();
    if (!text && what !== 'discard') return;
    if (form.saving) await form.saving;
    const body = new FormData(form);
    body.set('do', what);
    form.saving = send(form.action, body);
    try {
      const res = await form.saving, id = res.headers.get('Draft-Id');
      if (id) { form.elements.draft.value = id; form.dataset.draft = id; form.classList.add('draft'); $('.saved', form).textContent = 'Saved'; }
      showCount(res.headers);
    } finally { form.saving = null; }
  };
  const showCount = h => { if (h.has('Draft-Count')) { $('#draftcount').dataset.n = h.get('Draft-Count'); relabel(); } };
  const relabel = () => { // the bar: my drafts, and what all share
    const d = $('#draftcount'), b = $('#send'), shared = $('#review-counts')?.dataset;
    if (!d || !shared) return;
    const mine = +d.dataset.n, n = mine + +shared.unsent, what = n === 1 ? '1 comment' : n + ' comments';
    $('#finish-note').textContent = !mine ? '' : mine === 1 ? 'Your draft is published with it.' : `Your ${mine} drafts are published with it.`;
    d.textContent = mine ? mine === 1 ? '1 draft' : mine + ' drafts' : 'No drafts';
    d.classList.toggle('some', mine > 0);
    if (!b) return;
    const runs = shared.running === 'true', steer = $('#steer');
    b.disabled = steer.disabled = !n;
    steer.hidden = !runs || !n;
    b.textContent = !n ? 'Send comments to the agent' : runs ? `Queue next: ${what}` : `Send ${what} to the agent`;
  };
  window.ahphub.on.push(list => { if (list.some(p => p[1] === 'review-counts')) relabel(); });
  const closeForm = form => {
    const row = rowFor(fileOf(form), form.dataset.at);
    form.remove();
    focused = null;
    if (row) go(row);
  };
  const submit = async (form, button) => {
    const what = button?.value || 'save';
    if (what === 'discard' && !form.elements.draft.value) return closeForm(form);
    try {
      await save(form, what);
      if (what === 'save') { $('textarea', form).blur(); const row = rowFor(fileOf(form), form.dataset.at); if (row) go(row); }
      else closeForm(form);
    } catch (err) { fail(err); }
  };
  // Other small forms of a thread (reply, edit, resolve): the answer comes back as a live patch.
  const post = async (form, button) => {
    const body = new FormData(form);
    if (button?.name) body.set(button.name, button.value);
    try {
      const res = await send(button?.hasAttribute('formaction') ? button.formAction : form.action, body);
      if (res.status === 200) done(await res.text(), button?.closest('.fm, .od'), form);
      if (!form.isConnected) return;
      const d = form.closest('details.reply, details.edit');
      if (d) { d.open = false; if (d.classList.contains('reply')) form.reset(); }
    } catch (err) { fail(err); }
  };
  const firstLine = area => { // how long the first line of a commit's message is
    const n = [...area.value.split('\n', 1)[0]].length, hint = $('#op-hint');
    hint.dataset.text ||= hint.textContent;
    hint.textContent = n > 72 ? `The first line has ${n} characters: at most 72 are shown whole.` : hint.dataset.text;
    hint.classList.toggle('bad', n > 72);
  };
  window.ahphub.on.push(list => { if (list.some(p => p[1] === 'ops') && $('#op-message')?.value) firstLine($('#op-message')); });
  const done = (said, box, form) => { // an operation
    toast(said);
    if (box) { box.open = false; form.reset(); }
  };
  root.addEventListener('submit', e => {
    const form = e.target;
    if (e.submitter?.matches('.fo')) {
      e.preventDefault();
      const b = e.submitter, label = b.textContent;
      if (!('confirm' in b.dataset) || b.dataset.sure) return post(form, b);
      b.dataset.sure = '1';
      b.textContent = 'Sure? ' + label;
      setTimeout(() => { delete b.dataset.sure; b.textContent = label; }, 4000);
      return;
    }
    if (form.matches('.cf')) { e.preventDefault(); submit(form, e.submitter); }
    else if (form.closest('#sendbar')) { // what was typed a moment ago goes along
      const unsaved = $$('.cf', root).filter(f => timers.has(f) || f.saving);
      if (!unsaved.length) return;
      e.preventDefault();
      Promise.allSettled(unsaved.map(f => save(f, 'save'))).then(() => form.requestSubmit(e.submitter));
    }
    else if (form.hasAttribute('data-post')) { e.preventDefault(); post(form, e.submitter); }
    else if (e.submitter?.matches('.rv')) { e.preventDefault(); const f = fileOf(e.submitter); review(f, !f.hasAttribute('data-reviewed')); }
  });
  root.addEventListener('input', e => {
    if (e.target.id === 'op-message') firstLine(e.target);
    if (e.target.matches('textarea')) focused = e.target;
    const form = e.target.closest('.cf');
    if (form) autosave(form);
    else if (e.target.id === 'filter') filter(e.target.value);
  });
  addEventListener('pagehide', () => {
    for (const form of $$('.cf', root)) {
      if (!timers.has(form) || !form.elements.text.value.trim()) continue;
      const body = new FormData(form);
      body.set('do', 'save');
      navigator.sendBeacon(form.action, new URLSearchParams(body));
    }
  });

  // ---- context ----
  const expand = async (h, a, whole) => {
    const [lo, hi] = hidden(h), entire = whole || a.classList.contains('al'), up = a.classList.contains('up');
    await gap(h, entire || !up ? lo : Math.max(lo, hi - 19), entire || up ? hi : Math.min(hi, lo + 19));
  };
  const gap = async (h, from, to) => { // rows of a gap, at its end if they reach it
    const f = fileOf(h), up = to === hidden(h)[1] && from > hidden(h)[0];
    const rows = fragment(await (await send(`${root.dataset.base}/changes/context?${root.dataset.query}&file=${f.dataset.file}&from=${from}&to=${to}`)).text());
    if (up) h.after(rows); else h.before(rows);
    const [a2, b2] = hidden(h);
    if (a2 <= b2) return;
    if (!h.dataset.k) h.remove();
    else { h.classList.add('no'); for (const b of $$(':scope > button', h)) b.remove(); } // the bar of a hunk stays
  };
  const hidden = h => { // the lines between the rows around a bar
    const next = (dir, el) => { walker.currentNode = el; let r = dir > 0 ? walker.nextNode() : walker.previousNode(); while (r && fileOf(r) === fileOf(h) && !line(r, 'R')) r = move(r, dir, true); return r && fileOf(r) === fileOf(h) ? line(r, 'R') : 0; };
    return [next(-1, h) + 1, h.dataset.t ? +h.dataset.t : next(1, h) - 1];
  };
  const near = () => {
    const f = nowFile();
    if (!f) return null;
    const bars = $$('.h', f).filter(h => $(':scope > button', h));
    if (!cur) return bars[0];
    const y = b => Math.abs(b.getBoundingClientRect().top - cur.getBoundingClientRect().top);
    return bars.sort((a, b) => y(a) - y(b))[0];
  };
  const more = async whole => {
    const f = nowFile();
    try {
      if ($('.load', f)) return load($('.load', f));
      if (whole) for (const h of $$('.h', f)) { const a = $(':scope > button', h); if (a) await expand(h, a, true); }
      else { const h = near(); if (h) await expand(h, $('.up, .al, .dn', h)); }
    } catch (err) { fail(err); }
  };
  const load = async a => {
    const f = fileOf(a);
    try {
      const body = fragment(await (await send(a.href)).text());
      $('.fb', f).replaceChildren(body);
      $('.fb', f).className = 'fb' + (split() ? ' split' : '');
    } catch (err) { fail(err); }
  };

  // ---- threads ----
  const openThreads = () => $$('.thr', root).filter(t => $('.thread[data-state=open]', t));
  let thread = null;
  const nextThread = dir => {
    const list = openThreads();
    if (!list.length) return toast('No open threads.');
    let i = list.indexOf(thread);
    if (i < 0 && cur) i = list.findIndex(t => cur.compareDocumentPosition(t) & Node.DOCUMENT_POSITION_FOLLOWING) - (dir > 0 ? 1 : 0);
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
  const seen = card => {
    if (!card.hasAttribute('data-unread')) return;
    card.removeAttribute('data-unread');
    seenQueue.add(card.id.slice(7));
    clearTimeout(seen.timer);
    seen.timer = setTimeout(() => {
      const body = new URLSearchParams([...seenQueue].map(id => ['thread', id]));
      seenQueue.clear();
      send(root.dataset.base + '/threads/seen', body).catch(() => {});
    }, 300);
  };
  const watcher = new IntersectionObserver(list => {
    for (const e of list) if (e.isIntersecting && e.target.hasAttribute('data-unread')) setTimeout(() => e.target.isConnected && !document.hidden && seen(e.target), 2500);
  }, { threshold: 0.6 });

  // ---- live patches: put back what a patch took away ----
  const own = el => {
    const me = root.dataset.me;
    for (const e of $$('[data-by]', el)) e.classList.toggle('mine', !!me && e.dataset.by === me);
    for (const t of el.matches?.('time') ? [el] : $$('time[datetime]', el)) t.textContent = ago(t.dateTime);
    for (const t of $$('.thread[data-unread]', el)) watcher.observe(t);
  };
  const ago = iso => {
    const at = new Date(iso), s = (Date.now() - at) / 1000;
    if (s < 60) return 'just now';
    if (s < 3600) return Math.floor(s / 60) + ' min ago';
    if (s < 86400) return Math.floor(s / 3600) + ' h ago';
    return at.toLocaleString([], { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
  };
  const settle = box => { // a thread or draft that is not under its line yet
    const f = document.getElementById('file-' + box.dataset.file) || document.getElementById('group-' + box.dataset.file);
    if (!f) return;
    const at = box.dataset.at, row = rowFor(f, at);
    if (!row) {
      $('.fb', f).prepend(box);
      const { reveal } = window.ahphub.review || {};
      if (!at.startsWith('R') || box.sought || !reveal || $('.outdated', box)) return;
      box.sought = true; // on context that is not open here
      reveal(f, +at.match(/\d+$/)[0]).then(() => rowFor(f, at) && settle(box), () => {});
      return;
    }
    let after = split() && row.classList.contains('l') && row.nextElementSibling?.classList.contains('r') ? row.nextElementSibling : row;
    while (after.nextElementSibling?.matches('.thr, .cf')) after = after.nextElementSibling;
    after.after(box);
  };
  const rescue = node => {
    if (node.nodeType !== 1) return;
    const boxes = node.matches('.cf') ? [] : $$('.cf', node);
    for (const form of boxes) settle(form);
    if (focused && node.contains(focused) === false && !focused.isConnected) focused = null;
    if (focused?.isConnected && document.activeElement !== focused && (document.activeElement === document.body || !document.activeElement)) focused.focus({ preventScroll: true });
  };
  const refold = (was, now) => {
    if (was.matches?.('.file') && now?.matches?.('.file') && !now.hasAttribute('data-stale')) fold(now, was.classList.contains('shut'));
  };
  new MutationObserver(list => {
    for (const m of list) for (const n of m.addedNodes) if (n.nodeType === 1 && (n.matches('.files, .file, .thr, .thread, .fh') || m.target.id === 'pool')) added(n);
    for (const m of list) for (const n of m.removedNodes) {
      if (n.nodeType !== 1 || !n.matches('.files, .file, .thr, .thread, .fb')) continue;
      for (const f of n.matches('.files') ? $$('.file', n) : [n]) refold(f, f.id && document.getElementById(f.id));
      rescue(n);
    }
    const pool = $('#pool');
    for (const box of $$('.thr', pool)) settle(box);
  }).observe(root, { childList: true, subtree: true });
  const headed = h => { // a head that came alone: its file is as the head says, and as folded as it was
    const f = fileOf(h);
    f.toggleAttribute('data-reviewed', $('.rv', h)?.getAttribute('aria-pressed') === 'true');
    $('.fold', h)?.setAttribute('aria-expanded', String(!f.classList.contains('shut')));
    shared.headed?.(f);
  };
  const added = n => {
    own(n);
    if (n.matches('.fh') && fileOf(n)) headed(n);
    const card = n.matches('.thread') ? n : $('.thread', n);
    const last = card && !n.matches('.file, .files') && $$('.entry', card).pop();
    if (last && last.dataset.by !== root.dataset.me && card.dataset.state === 'open') { card.setAttribute('data-unread', ''); watcher.observe(card); }
  };
  document.addEventListener('focusin', e => { focused = e.target.matches('textarea') ? e.target : null; });

  // ---- mouse ----
  const gutter = e => {
    const r = e.target.closest?.('.r');
    return r && !r.classList.contains('e') && e.target === r && e.clientX - r.getBoundingClientRect().left < parseFloat(getComputedStyle(r).paddingLeft) ? r : null;
  };
  let drag = null;
  root.addEventListener('mousedown', e => {
    const cell = e.target.closest?.('.r');
    if (cell && split()) { const fb = cell.closest('.fb'); fb.classList.toggle('pick-l', cell.classList.contains('l')); fb.classList.toggle('pick-r', !cell.classList.contains('l')); }
    const row = e.button === 0 && gutter(e);
    if (!row) return;
    e.preventDefault();
    if (e.shiftKey && cur) { anchor ||= cur; go(row); drag = null; link(); return; }
    anchor = null;
    paint();
    go(row);
    drag = row;
  });
  root.addEventListener('mouseover', e => {
    const row = drag && e.buttons === 1 && e.target.closest('.r');
    if (row && row !== cur && fileOf(row) === fileOf(drag)) { anchor = drag; go(row); }
  });
  addEventListener('mouseup', e => {
    if (!drag) return;
    const row = drag, first = e.clientX - row.getBoundingClientRect().left < parseFloat(getComputedStyle(row, '::before').width);
    drag = null;
    if (anchor || first) comment(); else link();
  });
  root.addEventListener('click', e => {
    const t = e.target;
    const f = t.closest('.fold'), a = t.closest('.h > button'), l = t.closest('.load'), c = t.closest('.cfile');
    if (f) return toggleFold(fileOf(f));
    if (t.closest('.suggest')?.form) return suggest(t.closest('form'));
    if (e.metaKey || e.ctrlKey || !(a || l || c)) return;
    e.preventDefault();
    if (a) expand(a.parentElement, a).catch(fail);
    else if (l) load(l);
    else openForm(fileOf(c), '');
  });
  $('#tree')?.addEventListener('click', e => {
    const li = e.target.closest('li[id]');
    if (!li || e.metaKey || e.ctrlKey) return;
    e.preventDefault();
    goFile(document.getElementById('file-' + li.id.slice(3)));
    history.replaceState(null, '', '#f-' + li.id.slice(3));
  });
  root.addEventListener('scroll', e => { // one scroll bar moves every row of its file
    if (e.target.classList?.contains('hx')) e.target.parentElement.style.setProperty('--sx', e.target.scrollLeft + 'px');
  }, { capture: true, passive: true });
  root.addEventListener('wheel', e => {
    const dx = e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX;
    const hx = Math.abs(dx) > Math.abs(e.shiftKey ? 0 : e.deltaY) && $('.hx', e.target.closest('.fb') || root);
    if (hx) hx.scrollLeft += dx;
  }, { passive: true });

  // ---- filter ----
  const filter = text => {
    const q = text.trim().toLowerCase();
    let dir = null;
    for (const li of $('#tree ul').children) {
      if (li.classList.contains('dir')) { dir = li; li.hidden = !!q; continue; }
      li.hidden = !!q && !li.dataset.path.toLowerCase().includes(q);
      if (!li.hidden && dir) dir.hidden = false;
    }
  };

  // ---- what the script of hunks and permalinks stands on ----
  const shared = window.ahphub.review = {
    root, $, $$, fileOf, fold, rowAt, line, go, goFile, send, fail, split, may, nextUnreviewed, nowFile, whereIs, hidden, rows: gap, settle,
    cur: () => cur?.isConnected ? cur : null,
    select: (a, b) => { anchor = null; paint(); anchor = b !== a ? a : null; go(b, 'center'); if (!anchor) a.classList.add('sel'); },
  };
  const link = () => { if (cur) shared.link?.(); };

  // ---- keys ----
  const typing = el => el?.matches?.('input, textarea, select, [contenteditable]');
  Object.assign(all, {
    j: () => go(step(1)), k: () => go(step(-1)), n: () => hunk(1), p: () => hunk(-1), J: () => nextFile(1), K: () => nextFile(-1),
    u: () => goFile(nextUnreviewed(nowFile())), ']': () => nextThread(1), '[': () => nextThread(-1), v: reviewAndNext, o: () => toggleFold(nowFile()),
    s: () => { anchor = anchor ? null : cur; paint(); }, c: comment, C: () => openForm(nowFile(), ''),
    r: () => { const t = nowThread(); if (t) { $('.reply', t).open = true; $('.reply textarea', t).focus(); } },
    e: () => { const f = nowThread() && $('form.resolve', nowThread()); if (f) post(f); },
    x: () => more(false), X: () => more(true), m: () => $('.seg a:not([aria-current])')?.click(), 
    z: () => document.body.classList.toggle('full'), '/': () => $('#filter')?.focus(), Escape: () => out(),
  });
  for (const n of '12345') all[n] = () => $$('.scopes a')[n - 1]?.click();
  const out = () => {
    if (anchor) { anchor = null; paint(); } else if (cur) { cur.classList.remove('cur'); cur = null; }
  };
  document.addEventListener('keydown', e => {
    if (e.defaultPrevented || $('dialog[open]')) return;
    const el = e.target, form = el.closest?.('form.cf, form[data-post]');
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      if (e.shiftKey) { e.preventDefault(); sendAll(); } else if (form) { e.preventDefault(); form.requestSubmit($('button.main', form) || undefined); }
      return;
    }
    if (e.key === 'Escape' && typing(el)) {
      el.blur();
      if (el.id === 'filter') { el.value = ''; filter(''); }
      if (form?.matches('.cf') && !form.elements.text.value.trim()) closeForm(form);
      return;
    }
  });
  const sendAll = async () => {
    await Promise.allSettled($$('.cf', root).map(f => f.elements.text.value.trim() && save(f, 'save')));
    const b = $('#send');
    if (b && !b.disabled) b.form.requestSubmit(b);
  };

  for (const b of $$('[data-copy-from]', root)) {
    b.hidden = !navigator.clipboard;
    b.addEventListener('click', () => send(b.dataset.copyFrom).then(res => res.text()).then(text => navigator.clipboard.writeText(text)).then(() => toast('Copied.'), fail));
  }

  // ---- start ----
  for (const b of $$('.cf .suggest', root)) b.hidden = !b.form.dataset.at?.startsWith('R');
  for (const d of $$('.draft', $('#drafts') || root)) settle(d);
  for (const fb of $$('.fb[hidden]', root)) fileOf(fb).classList.add('shut');
  own(root);
})();
