/**
 * What a process of a test gets of the surrounding environment: where programs are, and what Node has
 * compiled before.
 */
export const childEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env["PATH"] ?? "",
  ...(process.env["NODE_COMPILE_CACHE"] === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] })
}
