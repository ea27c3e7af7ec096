/**
 * Runs in each page before its own scripts: notes when the deltas of an answer reach the page, when what they say is painted,
 * the frames, and the tasks that keep the page from reacting.
 */
globalThis.bench = (() => {
  const longTasks = []
  const arrivals = []
  const frames = []
  const decoder = new TextDecoder()
  let measuring = 0

  new PerformanceObserver((list) => {
    for (const { duration, startTime } of list.getEntries()) longTasks.push({ startTime, duration })
  }).observe({ type: "longtask", buffered: true })

  const { read } = ReadableStreamDefaultReader.prototype
  ReadableStreamDefaultReader.prototype.read = async function () {
    const result = await read.call(this)
    if (result.value instanceof Uint8Array && decoder.decode(result.value).includes("output_text.delta"))
      arrivals.push(performance.now())
    return result
  }

  /** The time at which the next frame has been painted. */
  const painted = () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.addEventListener("message", () => resolve(performance.now()))
        port1.start()
        port2.postMessage(null)
      })
    })

  /** The time at which what holds is painted. */
  const paintedOnce = (holds) =>
    new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        if (!holds()) return
        observer.disconnect()
        resolve(painted())
      })
      observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
    })

  const shows = (selector, text) =>
    [...document.querySelectorAll(selector)].some((element) => element.textContent.includes(text))

  return {
    /** From now on frames are counted, and arrivals and long tasks begin anew. */
    begin: () => {
      longTasks.length = arrivals.length = frames.length = 0
      measuring++
      const run = measuring
      let last = performance.now()
      const frame = (now) => {
        if (run !== measuring) return
        frames.push(now - last)
        last = now
        requestAnimationFrame(frame)
      }
      requestAnimationFrame(frame)
    },
    /** What was noted since the beginning, in milliseconds. */
    end: () => {
      measuring++
      return { longTasks: longTasks.map(({ duration }) => duration), frames: [...frames] }
    },
    /** Milliseconds from the arrival of the first delta until the text is painted. */
    firstDelta: async (selector, text) => {
      arrivals.length = 0
      const time = await paintedOnce(() => shows(selector, text))
      return time - arrivals[0]
    },
    /** Milliseconds from a click on the element until the text is painted elsewhere. */
    fromClick: async (clicked, selector, text) => {
      const begun = performance.now()
      const shown = paintedOnce(() => shows(selector, text))
      clicked.click()
      return (await shown) - begun
    },
    /** Scrolls by so many pixels in each frame until the text is there, or nothing has come for ten seconds. */
    scrollTo: async (element, pixels, text) => {
      let movedAt = performance.now()
      while (!element.textContent.includes(text)) {
        const before = [element.scrollTop, element.scrollHeight].join()
        element.scrollTop += pixels
        if ([element.scrollTop, element.scrollHeight].join() !== before) movedAt = performance.now()
        else if (performance.now() - movedAt > 10_000) throw new Error(`${text} did not come`)
        await new Promise(requestAnimationFrame)
      }
    },
    /** Milliseconds that the requests to addresses with this part took. */
    requests: (part) =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.includes(part))
        .map(({ duration }) => duration)
  }
})()
