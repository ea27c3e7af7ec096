/** After so long the page may react to something else first. */
const pieceMillisMax = 8

const nextTask = () =>
  new Promise<void>((resolve) => {
    setTimeout(resolve)
  })

const makeInTurn = () => {
  let last: Promise<unknown> = Promise.resolve()
  let begunAt = 0
  return <A>(work: () => A): Promise<A> => {
    const done = last.then(async () => {
      if (performance.now() - begunAt > pieceMillisMax) {
        await nextTask()
        begunAt = performance.now()
      }
      return work()
    })
    last = done.catch(() => undefined)
    return done
  }
}

/** Does work that may wait after all that was given before, in pieces that are too short to be noticed. */
export const inTurn = makeInTurn()
