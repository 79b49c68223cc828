// The logic of composing a message, without the page, so that tests can run it.

// makeOutbox sends messages one after the other. post returns an error, '' for none. If a message fails, it and all
// queued messages are given back, since they were meant to follow it.
export function makeOutbox({ post, giveBack, changed }) {
  const waiting = []; // unanswered messages; the first is being sent
  async function send(message) {
    waiting.push(message);
    changed();
    while (waiting[0] === message) {
      const wrong = await post(message);
      if (wrong) giveBack(waiting.splice(0), wrong);
      else waiting.shift();
      changed();
      if (waiting.length) message = waiting[0];
    }
  }
  return { waiting, send };
}

// withTyped puts a failed message before the text typed since.
export const withTyped = (text, typed) => (typed.trim() ? `${text}\n\n${typed}` : text);

// startingText is the composer's initial text: the stored draft, or the page's text; a quote is
// appended to the draft, once.
export function startingText(kept, given, isQuote) {
  if (!isQuote || !given) return given || kept;
  if (kept.includes(given)) return kept;
  return kept ? `${kept.trimEnd()}\n\n${given}` : given;
}

// unsent returns the messages that were being sent when the page was left, except those whose text arrived.
export function unsent(messages, arrived) {
  const there = new Set(arrived.map((text) => text.trim()));
  return messages.filter((m) => m.text?.trim() && !there.has(m.text.trim()));
}

// asksForCompletion reports whether the text before the caret ends in a word that the server may complete.
export const asksForCompletion = (text) => /^\/\S*$/.test(text) || /(^|\s)@\S*$/.test(text);

// matchNames returns the people that an @ before the caret may mean, and the offset of the name.
export function matchNames(text, names, most) {
  const m = /(^|[^\p{L}\p{N}_@])@([\p{L}\p{N}_ ]{0,40})$/u.exec(text);
  if (!m) return { from: text.length, names: [] };
  const begun = m[2].toLowerCase();
  const found = names.filter((n) => n.toLowerCase().startsWith(begun) && n.length > begun.length);
  return { from: text.length - m[2].length, names: found.slice(0, most) };
}

// fits reports whether files can be attached to one message.
export const mostBytes = 700 * 1024;
export const fits = (files) => files.length <= 10 && files.reduce((n, f) => n + f.size, 0) <= mostBytes;
