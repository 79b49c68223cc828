// The terminal inside its frame: xterm.js fed by a WebSocket. Binary frames are output. Text frames are JSON: from
// the host {"reset":true} before a whole screen, and the keyboard of handlers/pages/terminals; to the host
// {"i":keys}, {"r":[cols,rows]} and {"a":bytes consumed}. Search, links and wide characters are loaded on demand.
import { $, storedData } from './dom.js';

// The server was down before the library loaded: the frame reloads once it answers.
if (!window.Terminal) {
  const again = () =>
    fetch('/healthz', { cache: 'no-store' }).then(
      () => location.reload(),
      () => setTimeout(again, 1000),
    );
  again();
  await new Promise(() => {}); // skips the code below
}
const data = document.body.dataset;
const may = 'type' in data;
export const outside = parent !== window && parent.document;

// ---- a person's settings: stored by the browser, shared by all frames ---------------------------------------------
const touch = matchMedia('(pointer: coarse)').matches;
export const own = { font: touch ? 12 : 13, chord: 'Ctrl+Alt+.', reader: false, clip: false };
function read() {
  Object.assign(own, storedData('terminal', true));
  own.font = Math.min(Math.max(+own.font || 13, 8), 32);
}
read();
addEventListener('storage', (e) => {
  if (e.key === 'terminal') {
    read();
    apply();
  }
});

// ---- colors of the page's theme -----------------------------------------------------------------------------------
const dark = matchMedia('(prefers-color-scheme: dark)');
const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const palettes = {
  dark: [
    '#16181b #e6e8ea #e6e8ea #16181b #36547f',
    '#3a4149 #f2777a #8fcf8f #e6c068 #74adff #d99bea #66cccc #d6dade',
    '#8a939c #ff9a9c #a9e0a9 #f2d68c #9dc4ff #e8b9f5 #8fe0e0 #ffffff',
  ],
  light: [
    '#ffffff #1c2024 #1c2024 #ffffff #b9d4fb',
    '#1c2024 #c0272d #1a7433 #8a5a00 #0b57d0 #8b2b8f #0a6f78 #5b646d',
    '#4a535c #a11d24 #10602a #704800 #0847ab #742078 #075a62 #1c2024',
  ],
};
function theme() {
  const choice = document.documentElement.dataset.theme;
  const light = choice ? choice === 'light' : !dark.matches;
  const [base, plain, bright] = palettes[light ? 'light' : 'dark'].map((s) => s.split(' '));
  const t = {
    background: base[0],
    foreground: base[1],
    cursor: base[2],
    cursorAccent: base[3],
    selectionBackground: base[4],
  };
  names.forEach((n, i) => {
    t[n] = plain[i];
    t[`bright${n[0].toUpperCase()}${n.slice(1)}`] = bright[i];
  });
  return t;
}
dark.addEventListener('change', () => {
  term.options.theme = theme();
});

// The cells are measured once: with the final font, unless it takes too long.
const font = document.fonts.load('12px "JetBrains Mono"').catch(() => {});
await Promise.race([font, new Promise((late) => setTimeout(late, 1000))]);

// The library does not load while the server restarts: the frame reloads.
if (!window.Terminal || !window.FitAddon) {
  setTimeout(() => location.reload(), 2000);
  await new Promise(() => {});
}

export const term = new Terminal({
  cols: +data.cols || 80,
  rows: +data.rows || 24,
  fontSize: own.font,
  lineHeight: 1.25,
  scrollback: 5000,
  disableStdin: true,
  allowProposedApi: true,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
  minimumContrastRatio: 4.5,
  macOptionClickForcesSelection: true,
  theme: theme(),
  screenReaderMode: own.reader,
  linkHandler: {
    allowNonHttpProtocols: false,
    activate: (e, uri) => links((l) => l.go(e, uri, true)),
    hover: (e, uri) => links((l) => l.hover(e, uri, true)),
    leave: () => links((l) => l.leave()),
  },
});
const fit = new FitAddon.FitAddon();
term.loadAddon(fit);
term.open($('#term'));

// ---- parts that are loaded on demand ------------------------------------------------------------------------------
const loading = {};
const checked = {
  createScriptURL(src) {
    if (!/^\/assets\/[0-9a-f]+\/vendor\/xterm\/[\w-]+\.js$/.test(src))
      throw new TypeError('not a script of this server');
    return src;
  },
};
const policy = window.trustedTypes?.createPolicy('ahphub-terminal', checked) || checked;
function load(addon) {
  return (loading[addon] ||= new Promise((done, failed) => {
    const s = document.createElement('script');
    s.src = policy.createScriptURL(data[addon]);
    s.onload = done;
    s.onerror = failed;
    document.head.append(s);
  }));
}
const links = (f) =>
  load('links')
    .then(() => import('./term-links.js'))
    .then(f, () => {});
const jump = (way, id) =>
  import('./term-commands.js').then(
    (m) => m.showCommand(way, id),
    () => {},
  );
const find = () =>
  load('search')
    .then(() => import('./term-search.js'))
    .then(
      (m) => m.openSearch(),
      () => {},
    );
setTimeout(() => links(() => {}), 200);

// ---- places: the rows of prompts and commands, as the host marks them in the output -------------------------------
export const places = new Map();
let prompt = null;
term.parser.registerOscHandler(6973, (s) => {
  if (term.buffer.active.type !== 'normal') return true;
  if (s === 'A') {
    prompt = term.registerMarker(0);
    return true;
  }
  const here = s[0] === '=';
  places.set(here ? s.slice(1) : s, here ? term.registerMarker(0) : prompt || term.registerMarker(-1));
  if (!here) prompt = null;
  return true;
});

// ---- the stream ----------------------------------------------------------------------------------------------------
let socket;
let tries = 0;
let unsent = [];
let gone = false;
const state = { size: [+data.cols, +data.rows], held: '', holder: '', mine: 'mine' in data, may: false, asked: '' };
const open = () => socket && socket.readyState === 1;
const tell = (m) => {
  if (open()) socket.send(JSON.stringify(m));
};
// Keys typed while disconnected are sent after a reconnect, up to a few: a word, not a script.
function type(keys) {
  if (!state.mine && !state.may) {
    nudge();
    return;
  }
  if (!open()) {
    if (unsent.length < 256) unsent.push(keys);
    return;
  }
  for (let i = 0, n; i < keys.length; i = n) {
    n = Math.min(i + 16000, keys.length);
    if (n < keys.length && keys.charCodeAt(n - 1) >> 10 === 0x36) n--; // keep surrogate pairs together
    tell({ i: keys.slice(i, n) });
  }
}
function connect() {
  const mine = (socket = new WebSocket(location.origin.replace(/^http/, 'ws') + data.stream));
  mine.binaryType = 'arraybuffer';
  let taken = 0;
  let told = 0;
  let soon = 0;
  const say = () => {
    soon = 0;
    if (mine === socket && told < taken) tell({ a: (told = taken) });
  };
  const took = (n) => {
    taken += n;
    if (taken - told >= 32768) say();
    else if (!soon) soon = setTimeout(say, 50);
  };
  mine.onopen = () => {
    tries = 0;
    sent = '';
    show();
  };
  mine.onmessage = (e) => {
    if (typeof e.data !== 'string') {
      write(new Uint8Array(e.data), took);
      return;
    }
    const m = JSON.parse(e.data);
    if (m.reset) {
      write('\x1bc', () => {
        places.clear();
        prompt = null;
        drawing = true;
        if (m.drawn) resize(...m.drawn);
      });
      return;
    } // in order with the output
    Object.assign(state, { exit: undefined, holder: '' }, m);
    if (unsent.length && (state.mine || state.may)) {
      const all = unsent.join('');
      unsent = [];
      type(all);
    }
    layout();
    show();
  };
  mine.onclose = (e) => {
    if (mine !== socket) return;
    gone = e.code === 4404;
    show();
    if (!gone) setTimeout(connect, Math.min(100 * 2 ** tries++, 1500) * (0.75 + Math.random() / 2));
  };
}
addEventListener('pagehide', () => {
  const left = socket;
  socket = null;
  left?.close(4000);
}); // a deliberate close releases control at once
addEventListener('pageshow', (e) => {
  if (e.persisted) connect();
});
addEventListener('online', () => {
  if (!open() && !gone) connect();
});
if (outside)
  parent.addEventListener('stale', () => {
    if (!gone && socket) {
      const was = socket;
      connect();
      was.close();
      show();
    }
  }); // the page closed its own stream
let drawing = false; // a whole screen comes next: it is written at the size it was made for
// Output with characters that may be wide waits for the widths of Unicode 11, which the host's own screen uses.
let held = null;
let wide = false;
function write(x, then) {
  if (held) {
    held.push([x, then]);
    return;
  }
  if (!wide && typeof x !== 'string' && x.some((b) => b >= 0xe2)) {
    wide = true;
    held = [[x, then]];
    const go = () => {
      const all = held;
      held = null;
      for (const [y, f] of all) write(y, f);
    };
    load('unicode').then(() => {
      term.loadAddon(new Unicode11Addon.Unicode11Addon());
      term.unicode.activeVersion = '11';
      go();
    }, go);
    return;
  }
  term.write(x, () => {
    if (then) then(x.length);
    if (drawing && typeof x !== 'string') {
      drawing = false;
      frame.screens++;
      layout();
      show();
    }
  });
}

// ---- size: the holder's window decides, others shrink the font until it fits --------------------------------------
// The terminal always has the host's size, or output in transit would be cut: the holder requests a size and waits.
let sent = '';
function layout() {
  if (drawing) return;
  const [cols, rows] = state.size;
  if (inline) {
    if (cols > 0 && rows > 0) within(cols, rows);
    return;
  }
  if (state.mine) {
    if (term.options.fontSize !== own.font) term.options.fontSize = own.font;
    const d = fit.proposeDimensions();
    const fits = d && d.cols > 1 && d.rows > 0;
    const now = fits && `${d.cols}x${d.rows}`;
    // Of two windows of one person, the focused one decides.
    if (fits && now !== `${cols}x${rows}` && now !== sent && (!sent || (outside || document).hasFocus())) {
      sent = now;
      tell({ r: [d.cols, d.rows] });
    }
    if (fits && (now === sent || now === `${cols}x${rows}`)) {
      if (cols > 0 && rows > 0) resize(cols, rows);
      return;
    }
  }
  if (!(cols > 0 && rows > 0)) return;
  resize(cols, rows);
  for (let i = 0; i < 12; i++) {
    // grow once, then shrink until it fits
    const d = fit.proposeDimensions();
    const size = term.options.fontSize;
    if (!d?.cols || !d.rows) return;
    const fits = d.cols >= cols && d.rows >= rows;
    if (fits && i) return;
    const by = (spare) => Math.floor(size * Math.min((d.cols + spare) / cols, (d.rows + spare) / rows) * 4) / 4;
    const next = fits ? Math.min(own.font, by(0)) : Math.max(6, Math.min(size - 0.25, by(0.9)));
    if (next === size) return;
    term.options.fontSize = next;
  }
}
// In a chat, the font fits the width but stays readable, and the frame is as high as its content: it only grows.
const inline = outside && !frameElement.matches('.termframe');
const leastFont = 11;
const mostLines = 30;
let lines = 3;
let growing = 0;
function within(cols, rows) {
  resize(cols, rows);
  for (let i = 0; i < 4; i++) {
    const d = fit.proposeDimensions();
    const size = term.options.fontSize;
    const next =
      d?.cols && Math.max(leastFont, Math.min(own.font, Math.floor(((size * (d.cols + 0.9)) / cols) * 4) / 4));
    if (!next || next === size || (i && next > size)) break;
    term.options.fontSize = next;
  }
  const b = term.buffer.active;
  const box = $('#term');
  const screen = box.querySelector('.xterm-screen').offsetHeight;
  let used = b.type === 'normal' && !b.baseY ? b.cursorY + 1 : rows;
  for (let y = rows - 1; y >= used; y--) if (b.getLine(b.baseY + y)?.translateToString(true)) used = y + 1;
  lines = Math.min(Math.max(lines, used), rows, mostLines);
  const high = Math.ceil((lines * screen) / rows + document.body.offsetHeight - box.clientHeight + 2);
  frameElement.style.height = `${high}px`;
  box.style.overflowY = rows > mostLines || frameElement.offsetHeight < high ? 'auto' : 'hidden';
}
function grow() {
  growing = 0;
  layout();
}
if (inline) {
  document.body.dataset.inline = '';
  term.onWriteParsed(() => {
    if (!growing) growing = setTimeout(grow, 50);
  });
}
const resize = (c, r) => {
  if (c !== term.cols || r !== term.rows) term.resize(c, r);
};
let due;
new ResizeObserver(() => {
  clearTimeout(due);
  due = setTimeout(() => {
    layout();
    show();
  }, 60);
}).observe($('#term'));
addEventListener('focus', () => {
  sent = '';
  layout();
});
function apply() {
  term.options.screenReaderMode = own.reader;
  if (state.mine) term.options.fontSize = own.font;
  layout();
  show();
}

// ---- who is in control ---------------------------------------------------------------------------------------------
const words = { free: 'Type to take control', agent: 'Agent is typing', over: 'Exited' };
function who() {
  if (gone) return 'This terminal was closed';
  if (!open()) return tries || socket?.readyState > 1 ? 'Reconnecting…' : '';
  if (state.mine) return outside && !inline ? '' : "You're in control"; // the page around shows this
  if (state.held === 'over') return words.over + (state.exit == null ? '' : ` ${state.exit}`);
  if (state.held === 'held') return `${state.holder} is in control`;
  return ((state.held !== 'free' || may) && words[state.held]) || 'No one is in control';
}
function show() {
  const typing = (state.mine || state.may) && !gone;
  term.options.disableStdin = !typing;
  const text = who();
  if ($('#who').textContent !== text) $('#who').textContent = text;
  $('#size').textContent = `${term.cols}×${term.rows}`;
  $('#chord').textContent = own.chord;
  const b = document.body.dataset;
  b.held = gone ? 'over' : state.mine ? 'mine' : state.held;
  b.line = gone || open() ? 'up' : 'down';
  if (outside)
    parent.dispatchEvent(
      new parent.CustomEvent('terminal', {
        detail: { frame: frameElement, mine: state.mine, held: state.held, asked: state.asked, gone },
      }),
    );
}
// Ignored keys show a hint.
function nudge() {
  $('#who').classList.remove('nudge');
  requestAnimationFrame(() => $('#who').classList.add('nudge'));
}

// ---- keys: all go to the shell except the chord that leaves, search, copying and jumps ----------------------------
export const chordOf = (e) =>
  [
    e.ctrlKey && 'Ctrl',
    e.altKey && 'Alt',
    e.shiftKey && 'Shift',
    e.metaKey && 'Meta',
    e.key.length === 1 ? e.key.toUpperCase() : e.key,
  ]
    .filter(Boolean)
    .join('+');
export function leave() {
  term.blur();
  if (!outside) return;
  parent.focus();
  (outside.querySelector('.termtab[aria-current]') || outside.getElementById('main'))?.focus();
}
const does = {
  'Ctrl+Shift+F': find,
  'Ctrl+Shift+C': copy,
  'Ctrl+Shift+ArrowUp': () => jump(-1),
  'Ctrl+Shift+ArrowDown': () => jump(1),
};
term.attachCustomKeyEventHandler((e) => {
  const chord = chordOf(e);
  const f = chord === own.chord ? leave : does[chord];
  if (f) {
    if (e.type === 'keydown') {
      e.preventDefault();
      e.stopPropagation();
      f();
    }
    return false;
  }
  if (e.type === 'keydown' && !state.mine && !state.may && e.key.length === 1 && !e.ctrlKey && !e.metaKey) nudge();
  return !(chord === 'Ctrl+Shift+V' || (e.metaKey && /^[cv]$/i.test(e.key))); // handled by the browser
});
function copy() {
  const text = term.getSelection(); // without TLS there is no navigator.clipboard
  if (text && !document.execCommand('copy')) navigator.clipboard?.writeText(text).catch(() => {});
}
const press = { ctrl: false, alt: false };
function modify(k, on) {
  press[k] = on;
  $(`[data-key=${k}]`).setAttribute('aria-pressed', on);
}
term.onData((s) => {
  if (press.ctrl && s.length === 1 && /[a-z@[\\\]^_? ]/i.test(s))
    s = s === '?' ? '\x7f' : String.fromCharCode(s.toUpperCase().charCodeAt(0) & 31);
  if (press.alt && s.length === 1) s = `\x1b${s}`;
  for (const k in press) if (press[k]) modify(k, false);
  type(s);
});
term.onBinary(type);
// Several lines, and a program without bracketed paste: each line would run at once.
document.addEventListener(
  'paste',
  (e) => {
    const text = e.clipboardData?.getData('text/plain') || '';
    const lines = text.trimEnd().split('\n').length;
    if (term.modes.bracketedPasteMode || lines < 2 || !e.target.closest?.('#term')) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (confirm(`Paste ${lines} lines? Each line runs as it is pasted.`)) term.paste(text);
  },
  true,
);
const plain = { esc: '\x1b', tab: '\t', int: '\x03', slash: '/', minus: '-', pipe: '|', tilde: '~' };
const arrows = { up: 'A', down: 'B', right: 'C', left: 'D' };
$('#keys').addEventListener('click', (e) => {
  const k = e.target.dataset.key;
  if (!k) return;
  if (k in press) modify(k, !press[k]);
  else if (k === 'paste')
    navigator.clipboard?.readText?.().then(
      (s) => term.paste(s),
      () => {},
    );
  else if (arrows[k]) type((term.modes.applicationCursorKeysMode ? '\x1bO' : '\x1b[') + arrows[k]);
  else term.input(plain[k]);
  term.focus();
});

// OSC 52 writes to the clipboard only if its reader allowed it, and never reads it.
term.parser.registerOscHandler(52, (s) => {
  const text = s.slice(s.indexOf(';') + 1);
  if (own.clip && text !== '?' && text.length < 1e5)
    try {
      navigator.clipboard
        ?.writeText(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))))
        .catch(() => {});
    } catch {
      /* not base64 */
    }
  return true;
});

// The page around this frame uses it through a property of its element.
const frame = {
  state,
  places,
  find,
  jump,
  leave,
  type,
  screens: 0,
  hangUp: () => {
    socket.close();
    show();
  },
};
Object.assign($('#term'), { xterm: term, frame });
connect();
if (may && touch === false && !inline && (!outside || outside.querySelector('.termframe') === frameElement))
  term.focus();
