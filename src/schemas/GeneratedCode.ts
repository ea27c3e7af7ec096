import { compileFunction } from "node:vm"

/** Constructs a function as `Function` does. */
function compiled(...words: ReadonlyArray<string>) {
  return compileFunction(words.at(-1) ?? "", words.slice(0, -1))
}

/**
 * Runs what compiles a schema. The process may not generate code from strings; ajv has to, and calls `Function` by its global name.
 * During the call, and no longer, that name is a function which compiles by `node:vm`.
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
