const framesMax = 20

/** The name of an error, which quotes nothing. */
const name = /^\w{1,64}$/

/**
 * The name of an error and where it arose, without its message: that of an operator's package may quote a
 * prompt, an answer or a key. Takes whatever was thrown, and never throws.
 */
export const traceOf = (error: unknown): string => {
  try {
    if (!(error instanceof Error)) return "something that is no error"
    const { message, stack } = error
    const frames = String(stack)
      .replace(message, "")
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .slice(0, framesMax)
    return [name.test(error.name) ? error.name : "Error", ...frames].join("\n")
  } catch {
    return "an error that can't be read"
  }
}
