// The chat page: composer keys, approval keys, shared answers, earlier turns, the pane.
import './approval.js';
import { startingText } from './compose.js';
import { $, $$, byId, parse, store, stored, toast } from './dom.js';
import { keys } from './keys.js';
import { isAtEnd, measureEnd, onPatch, scrollToEnd } from './patch.js';

const scroll = $('#scroll');
const message = $('#message');

// Start at the newest turn, unless the address names another place.
if (scroll && !location.hash && !new URLSearchParams(location.search).has('before'))
  scroll.scrollTop = scroll.scrollHeight;
scroll?.addEventListener(
  'scroll',
  () => {
    if (scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40) {
      $('#new-pill').hidden = true;
      delete $('#new-pill').dataset.n;
    }
  },
  { passive: true },
);

// A reader at the end stays there while content grows: text, a resized terminal, a loaded picture, the queue
// below. The position is measured after a layout that happens anyway.
if (scroll) {
  let landed = !location.hash && !new URLSearchParams(location.search).has('before');
  if (!landed)
    addEventListener('load', () =>
      requestAnimationFrame(() => {
        measureEnd();
        landed = true;
      }),
    );
  const follow = new ResizeObserver(() => {
    if (landed && isAtEnd()) scrollToEnd();
  });
  follow.observe($('#turns'));
  follow.observe(scroll);
  onPatch((list) => {
    if (list.some((p) => p[0] === 'r' && p[1] === 'turns')) follow.observe($('#turns'));
  });
}

// Times in the reader's locale. Creating a format takes longer than a patch may.
const hours = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat([], { dateStyle: 'short', timeStyle: 'medium' });
const clocks = (root) => {
  for (const t of root.querySelectorAll('time[datetime]:not([data-local])')) {
    t.dataset.local = '';
    const d = new Date(t.dateTime);
    if (!Number.isNaN(+d)) {
      t.textContent = hours.format(d);
      t.title = day.format(d);
    }
  }
};
clocks(document);
onPatch((list) => {
  if (list.some((p) => p[0] === 'a' || (p[0] === 'r' && /^(turn|background)/.test(p[1])))) clocks(document);
});

// The running time of a turn, updated every second.
setInterval(() => {
  for (const el of $$('.elapsed')) {
    const s = Math.max(0, Math.round((Date.now() - Date.parse(el.dataset.since)) / 1000));
    el.dataset.shown = s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
  }
}, 1000);

// The log of an agent that does not respond, for readers with the right.
let logged = '';
const showLog = () => {
  const pre = $('#silent pre');
  if (!pre || !logged) return;
  pre.textContent = logged;
  pre.hidden = false;
};
const logs = () => {
  const a = $('#silent [data-agent-log]');
  if (!a) logged = '';
  if (!a?.checkVisibility()) return;
  showLog(); // show the previous log until the new one arrives
  fetch(a.href)
    .then((r) => (r.ok ? r.text() : ''))
    .then((text) => {
      logged = text;
      showLog();
    })
    .catch(() => {}); // the link is still there
};
logs();
onPatch((list) => {
  if (list.some((p) => p[1] === 'silent')) logs();
});

// The draft survives a reload; js/chat-send.js sends it.
const key = `draft:${location.pathname}${message?.form.elements.edit ? '?edit' : ''}`;
if (message) {
  const kept = stored(key);
  const quote = new URLSearchParams(location.search).has('quote') && message.value;
  message.value = startingText(kept, message.value, !!quote);
  message.addEventListener('input', () => store(key, message.value));
  if (quote) {
    // append the quoted terminal output to the draft, once
    history.replaceState(null, '', location.pathname);
    message.focus();
    message.dispatchEvent(new Event('input', { bubbles: true }));
  }
  // Arrow up in an empty composer restores this person's earlier messages, and down goes back.
  const said = () =>
    $$('#turns .said')
      .filter((s) => s.querySelector('.who b')?.textContent === message.form.dataset.me)
      .map((s) => s.querySelector('.text').textContent)
      .filter((t, i, all) => t && t !== all[i - 1]);
  let back = 0;
  let shown = '';
  message.addEventListener('keydown', (e) => {
    const up = e.key === 'ArrowUp';
    const down = e.key === 'ArrowDown';
    if (
      (!up && !down) ||
      e.isComposing ||
      e.shiftKey ||
      e.ctrlKey ||
      e.altKey ||
      e.metaKey ||
      message.value !== (back ? shown : '') ||
      (down && !back)
    )
      return;
    const all = said();
    if (up && back === all.length) return;
    e.preventDefault();
    back += up ? 1 : -1;
    shown = message.value = back ? all.at(-back) : '';
    message.dispatchEvent(new Event('input', { bubbles: true }));
  });
  message.addEventListener('input', () => {
    if (message.value !== shown) back = 0;
  });
  const press = (how) => {
    const b =
      $('#composer-mode').querySelector(`button[value=${how}]`) || $('#composer-mode').querySelector('button.main');
    if (message.value.trim()) message.form.requestSubmit(b);
  };
  message.addEventListener('keydown', (e) => {
    if (e.key !== 'Enter' || e.isComposing || e.shiftKey) return;
    if (!e.ctrlKey && !e.metaKey && !e.altKey && matchMedia('(pointer: coarse)').matches) return;
    e.preventDefault();
    press(e.ctrlKey || e.metaKey ? 'steer' : 'queue');
  });
}

// A refused setting, or one that another person changed, is reset.
document.addEventListener(
  'refused',
  (e) => {
    if (e.target.matches?.('[data-setting]')) e.target.reset();
  },
  true,
);

// Keys for the focused approval card: y, n, d.
const card = () => document.activeElement?.closest?.('.asks');
for (const [k, answer] of [
  ['y', 'button[data-kind=approve]'],
  ['n', '.deny summary'],
]) {
  const before = keys[k];
  keys[k] = (e) => {
    const c = card();
    c ? c.querySelector(answer)?.click() : before?.(e);
  };
}
const beforeD = keys.d;
keys.d = (e) => {
  const c = card();
  if (!c) {
    beforeD?.(e);
    return;
  }
  const d = c.querySelector('details:not(.deny)');
  if (d) d.open = !d.open;
};
addEventListener('hashchange', () => {
  const t = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  if (t?.tabIndex >= 0) t.focus({ preventScroll: true });
});

// The bar about open requests hides while all of them are in view.
const inView = new Set();
const seen = new IntersectionObserver((list) => {
  for (const e of list) e.isIntersecting ? inView.add(e.target) : inView.delete(e.target);
  hideAttention();
});
const watched = new WeakSet();
function hideAttention() {
  for (const el of inView) if (!el.isConnected || !el.matches('.asks')) inView.delete(el);
  const waiting = $('#attention > a');
  $('.chat')?.classList.toggle('all-in-view', !!waiting && inView.size >= +waiting.dataset.count);
}
function watchAsks() {
  for (const el of $$('#turns .asks')) {
    if (watched.has(el)) continue;
    watched.add(el);
    seen.observe(el);
  }
  hideAttention();
}
watchAsks();
onPatch((list) => {
  if (list.some((p) => p[0] !== 's' && /^(tool|ask|turn|parts|attention)/.test(p[1]))) watchAsks();
});

// Answers are edited together: each changed field is shared with other viewers before the form is sent.
document.addEventListener('change', (e) => {
  const form = e.target.closest?.('form[data-answers]');
  const q = e.target.closest?.('[data-question]');
  if (!form || !q || !document.body.classList.contains('may-prompt')) return;
  const body = new URLSearchParams(new FormData(form));
  body.set('question', q.dataset.question);
  fetch(form.action.replace(/input$/, 'answer'), { method: 'POST', body, headers: { 'X-Fragment': 'answer' } }).catch(
    () => {},
  );
});

// Copying: an answer as its Markdown source, and code as is.
const copy = async (text, b) => {
  try {
    await navigator.clipboard.writeText(await text);
  } catch {
    toast('The browser blocked copying.', true);
    return;
  }
  const was = b.textContent;
  b.textContent = 'Copied';
  setTimeout(() => {
    b.textContent = was;
  }, 1500);
};
document.addEventListener('click', (e) => {
  const a = e.target.closest?.('a[data-copy]');
  if (a && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    copy(
      fetch(a.href).then((r) => r.text()),
      a,
    );
  }
  const b = e.target.closest?.('.code > .copy');
  if (b) copy(b.parentNode.querySelector('pre').textContent, b);
});
const tool = (e) => {
  const c = e.target.closest?.('#turns .code');
  if (!c || c.querySelector('.copy')) return;
  $('.code > .copy')?.remove();
  const b = document.createElement('button');
  b.type = 'button';
  b.className = 'btn small copy';
  b.textContent = 'Copy';
  c.prepend(b); // streamed text is appended at the end
};
document.addEventListener('pointerover', tool, { passive: true });
document.addEventListener('focusin', tool);

// Insert earlier turns above without moving the visible text.
async function earlier(a) {
  if (a.dataset.busy) return;
  a.dataset.busy = 'yes';
  try {
    const r = await fetch(a.getAttribute('href'), { headers: { 'X-Fragment': 'earlier' } });
    if (!r.ok) throw new Error(r.status);
    const got = parse(await r.text());
    const next = got.querySelector('#earlier');
    clocks(got);
    const old = [...got.querySelectorAll('.turn')].filter((t) => !byId(t.id));
    const first = $('#turns').firstElementChild;
    const at = first?.getBoundingClientRect().top;
    $('#turns').prepend(...old);
    if (first) scroll.scrollTop += first.getBoundingClientRect().top - at;
    if (next) a.setAttribute('href', next.getAttribute('href'));
    else a.parentNode.remove();
  } catch {
    /* the link is still there */
  } finally {
    delete a.dataset.busy;
  }
  if (a.isConnected && near(a)) earlier(a);
}
const near = (a) => a.getBoundingClientRect().bottom > scroll.getBoundingClientRect().top - 800;
const reach = () => {
  const a = $('#earlier');
  if (a && scroll.scrollHeight > scroll.clientHeight && near(a)) earlier(a);
};
if ($('#earlier')) {
  // the observer sees layout changes, but misses a reader who returns to the top before it runs
  scroll.addEventListener('scroll', reach, { passive: true });
  new IntersectionObserver(reach, { root: scroll, rootMargin: '800px 0px 0px 0px' }).observe($('#earlier'));
}
document.addEventListener('click', (e) => {
  const a = e.target.closest?.('#earlier');
  if (a && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    earlier(a);
    return;
  }
  if (e.ctrlKey || e.metaKey) return;
  if (e.target.closest?.('[data-pane-toggle]')) {
    e.preventDefault();
    togglePane();
  }
  if (e.target.closest?.('[data-info]')) {
    e.preventDefault();
    showInfo();
  }
});
const showInfo = () => {
  $('.head-row .menu[open]')?.removeAttribute('open');
  $('#info').showModal();
  refreshSandbox();
};
const refreshSandbox = async () => {
  if (!$('#contacts, #container')) return;
  const r = await fetch(`${location.pathname}?contacts=yes`, { headers: { 'X-Fragment': 'contacts' } }).catch(
    () => null,
  );
  if (!r?.ok) return;
  for (const now of parse(await r.text()).querySelectorAll('#contacts, #container')) $(`#${now.id}`)?.replaceWith(now);
};
if (location.hash === '#info') showInfo();

// The changed files beside the chat: a column on wide screens, an overlay on narrow ones.
const main = $('#main');
const narrow = matchMedia('(max-width: 1199px)');
function togglePane() {
  if (narrow.matches) {
    main.classList.toggle('pane-over');
    return;
  }
  const closed = main.classList.toggle('nopane');
  main.toggleAttribute('data-pane-closed', closed);
  fetchPane(closed ? 'none' : 'changes');
}
keys.Escape = () => main.classList.remove('pane-over');
async function fetchPane(open) {
  let r;
  try {
    r = await fetch(`?pane=${open}`, { headers: { 'X-Fragment': 'pane' } });
  } catch {
    return;
  } // the server is unreachable: the stream shows that
  if (!r.ok || !$('#pane')) return;
  const had = +$('#pane').dataset.files;
  $('#pane').replaceWith(parse(await r.text()));
  if (!had && +$('#pane').dataset.files && !main.hasAttribute('data-pane-closed')) main.classList.remove('nopane');
  reading();
}
// The list follows the head: new counts mean new files. While they are being compared, it reloads.
let due;
const again = (wait) => {
  clearTimeout(due);
  due = setTimeout(() => fetchPane(main.hasAttribute('data-pane-closed') ? 'none' : 'changes'), wait);
};
const reading = () => {
  if ($('#pane')?.dataset.reading !== undefined) again(500);
};
onPatch((list) => {
  if (list.some((p) => p[1] === 'counts')) again(300);
});
reading();
