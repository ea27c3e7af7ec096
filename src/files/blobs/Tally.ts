import { createHash } from "node:crypto"

/** Length and SHA-256 of bytes that pass by in pieces. */
export interface Tally {
  readonly add: (piece: Uint8Array) => void
  /** To be asked once, after the last piece. */
  readonly total: () => { readonly bytes: number; readonly sha256: Uint8Array }
}

export const makeTally = (): Tally => {
  const hash = createHash("sha256")
  let bytes = 0
  return {
    add: (piece) => {
      hash.update(piece)
      bytes += piece.length
    },
    total: () => ({ bytes, sha256: new Uint8Array(hash.digest()) })
  }
}
