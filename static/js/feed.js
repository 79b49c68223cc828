// What the live feed keeps account of, without the page: tests run it by itself.

// takeBatch takes from a queue of patches those of one frame: at least one, and no more HTML than the page lays out
// while keys and scrolling keep working; all of them where no frame is drawn.
const atOnce = 8000; // characters of HTML
const size = (p) => (typeof p.at(-1) === 'string' ? p.at(-1).length : 0) + 40;
export function takeBatch(queue, all) {
  let n = 0;
  let sum = 0;
  while (n < queue.length && (n === 0 || all || sum + size(queue[n]) <= atOnce)) sum += size(queue[n++]);
  return queue.splice(0, n);
}

// marks holds of each room what the page has seen: "changes:ab12~f0.7~99" is number 99 of feed 7 of the server's run f0.
export function makeMarks(list) {
  const marks = new Map();
  const set = (mark) => marks.set(mark.split('~')[0], mark);
  for (const mark of list) set(mark);
  return {
    list: () => [...marks.values()],
    // advance notes that frame n of a feed arrived; where a room has a new feed, mark says so.
    advance(feed, n, mark) {
      for (const [room, m] of marks)
        if (m.endsWith(`.${feed}`, m.lastIndexOf('~'))) marks.set(room, m.slice(0, m.lastIndexOf('~') + 1) + n);
      if (mark) set(mark);
    },
  };
}

// retryDelay is how long to wait before attempt n, in ms: longer each time, and not the same for every page.
export const retryDelay = (n, random = Math.random()) => Math.min(200 * 2 ** n, 5000) * (0.75 + random / 2);
