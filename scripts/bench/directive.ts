/**
 * Tells the mock model server what to do for one request: a directive inside the prompt, because the prompt
 * is the one thing that every service passes on unchanged.
 */
export interface Directive {
  /** Deltas in the answer. */
  readonly tokens: number
  /** Milliseconds between writes; 0 writes on every turn of the event loop. */
  readonly gap: number
  /** Deltas in one write. */
  readonly burst: number
  /** The first delta carries the times at which the request came in and the delta went out. */
  readonly stamp: boolean
  /** After the first delta nothing more comes until the client leaves. */
  readonly hold: boolean
}

const standard: Directive = { tokens: 20, gap: 0, burst: 1, stamp: false, hold: false }

export const directive = (wanted: Partial<Directive>): string => {
  const { burst, gap, hold, stamp, tokens } = { ...standard, ...wanted }
  return `[[bench tokens=${tokens} gap=${gap} burst=${burst} stamp=${Number(stamp)} hold=${Number(hold)}]]`
}

const written = /\[\[bench tokens=(\d+) gap=(\d+) burst=(\d+) stamp=([01]) hold=([01])\]\]/

export const readDirective = (text: string): Directive => {
  const found = written.exec(text)
  if (found === null) return standard
  const [tokens = 0, gap = 0, burst = 1, stamp, hold] = found.slice(1).map(Number)
  return { tokens, gap, burst, stamp: stamp === 1, hold: hold === 1 }
}

/** Microseconds of the clock that all processes of the machine share, as 16 digits. */
export const stampNow = (): string => String(process.hrtime.bigint() / 1000n).padStart(16, "0")

/** `@`, when the request came in, when the delta went out, a space. */
export const stampLength = 34
