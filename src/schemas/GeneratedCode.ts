import { compileFunction } from "node:vm"

/** Constructs a function as `Function` does. */
function compiled(...words: ReadonlyArray<string>) {
  return compileFunction(words.at(-1) ?? "", words.slice(0, -1))
}

/**
 * Runs the compilation of a schema. The process must not generate code from strings, but ajv does by the
 * global `Function`. Only during the call, that name is a function that compiles by `node:vm`.
 */
export const generatingCode = <A>(compile: () => A): A => {
  const denied = globalThis.Function
  Reflect.set(globalThis, "Function", compiled)
  try {
    return compile()
  } finally {
    Reflect.set(globalThis, "Function", denied)
  }
}

/** Takes Node's modules, `node:vm` among them, from code that was not loaded as a module. */
export const denyModules = (): void => {
  Reflect.deleteProperty(process, "getBuiltinModule")
}
