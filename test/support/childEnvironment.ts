/**
 * The part of the surrounding environment that a test's process gets: the path of programs, and the cache
 * of code that Node has compiled.
 */
export const childEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env["PATH"] ?? "",
  ...(process.env["NODE_COMPILE_CACHE"] === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] })
}
