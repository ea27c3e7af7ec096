import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

/** What chardetng offers, by which Firefox detects charsets. Places are offsets in its memory. */
interface Chardetng {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly __wbindgen_malloc: (bytes: number) => number
  readonly __wbindgen_add_to_stack_pointer: (bytes: number) => number
  readonly encodingdetector_new: () => number
  readonly encodingdetector_feed: (detector: number, text: number, bytes: number, isWhole: number) => number
  readonly encodingdetector_guess: (
    result: number,
    detector: number,
    domain: number,
    domainBytes: number,
    allowsUtf8: number
  ) => void
}

declare global {
  // The types of Node.js lack it, and those of browsers have much else.
  namespace WebAssembly {
    const Module: new (program: Uint8Array) => object
    class Instance<Exports> {
      constructor(program: object, imports: Record<string, Record<string, () => void>>)
      readonly exports: Exports
    }
  }
}

/** A bundle has a copy beside itself. */
const programPath = (): string =>
  import.meta.url.endsWith(".ts")
    ? createRequire(import.meta.url).resolve("chardetng-wasm/dist/chardetng_wasm_bg.wasm")
    : fileURLToPath(new URL("chardetng.wasm", import.meta.url))

/** Most texts are UTF-8: it is compiled when it is needed. */
const compiled = (() => {
  let program: object | null = null
  return () => (program ??= new WebAssembly.Module(readFileSync(programPath())))
})()

const imports = {
  "./chardetng_wasm_bg.js": {
    __wbindgen_throw: () => {
      throw new Error("The detector of charsets failed.")
    }
  }
}

const no = 0
const leftOut = 0
const resultBytes = 16

/** The charset of a text by its bytes, as the Encoding Standard names it; never UTF-8. `isWhole`: no more bytes follow. */
export const detectCharset = (bytes: Uint8Array, isWhole: boolean): string => {
  // An instance for each text: nothing is left of it for the next one, and nothing has to be freed.
  const { exports: chardetng } = new WebAssembly.Instance<Chardetng>(compiled(), imports)
  const detector = chardetng.encodingdetector_new()
  const text = chardetng.__wbindgen_malloc(bytes.length)
  new Uint8Array(chardetng.memory.buffer).set(bytes, text)
  chardetng.encodingdetector_feed(detector, text, bytes.length, Number(isWhole))
  const result = chardetng.__wbindgen_add_to_stack_pointer(-resultBytes)
  chardetng.encodingdetector_guess(result, detector, leftOut, leftOut, no)
  const [name = 0, length = 0] = new Uint32Array(chardetng.memory.buffer, result, 2)
  return Buffer.from(chardetng.memory.buffer, name, length).toString("latin1")
}
