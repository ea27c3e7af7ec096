/** A vector of length one, or of zeros only. */
export type Vector = Float32Array

/** The direction of some numbers. */
export const normalised = (values: ReadonlyArray<number>): Vector => {
  // The largest first, so that no square is too large for a number.
  const largest = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  if (largest === 0) return new Float32Array(values.length)
  const scaled = values.map((value) => value / largest)
  const length = Math.sqrt(scaled.reduce((sum, value) => sum + value * value, 0))
  return Float32Array.from(scaled, (value) => value / length)
}

/** The cosine of the angle between two vectors of the same dimension. */
export const cosineOf = (one: Vector, other: Vector): number => {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}

/** A one for each number above zero. */
export const signsOf = (vector: Vector): string =>
  Array.from(vector, (value) => (value > 0 ? "1" : "0")).join("")

export const bytesPerNumber = 4

/** Vectors of one dimension as bytes, one behind the other. */
export const bytesOf = (vectors: ReadonlyArray<Vector>): Uint8Array => {
  const dimension = vectors[0]?.length ?? 0
  const bytes = new Uint8Array(vectors.length * dimension * bytesPerNumber)
  const view = new DataView(bytes.buffer)
  for (const [row, vector] of vectors.entries()) {
    for (const [at, value] of vector.entries()) {
      view.setFloat32((row * dimension + at) * bytesPerNumber, value, true)
    }
  }
  return bytes
}

export const vectorsOf = (bytes: Uint8Array, dimension: number): ReadonlyArray<Vector> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = dimension === 0 ? 0 : Math.floor(bytes.byteLength / (dimension * bytesPerNumber))
  return Array.from({ length: count }, (_, row) => {
    const vector = new Float32Array(dimension)
    for (let at = 0; at < dimension; at++) {
      vector[at] = view.getFloat32((row * dimension + at) * bytesPerNumber, true)
    }
    return vector
  })
}
