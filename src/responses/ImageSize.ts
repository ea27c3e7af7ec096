/** The size of images by their headers, without decoding them. */

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Source: Portable Network Graphics (3rd edition), section 11.2.1. */
const pngSize = (view: DataView): ImageSize => ({ width: view.getUint32(16), height: view.getUint32(20) })

/** Source: GIF89a, section 18. */
const gifSize = (view: DataView): ImageSize => ({
  width: view.getUint16(6, true),
  height: view.getUint16(8, true)
})

/** Source: RFC 9649, sections 2.5 to 2.7; RFC 6386, section 9.1. */
const webpSize = (view: DataView): ImageSize | null => {
  const uint24 = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000
  switch (String.fromCharCode(...[12, 13, 14, 15].map((at) => view.getUint8(at)))) {
    case "VP8X":
      return { width: uint24(24) + 1, height: uint24(27) + 1 }
    case "VP8L": {
      const bits = view.getUint32(21, true)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case "VP8 ":
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff }
    default:
      return null
  }
}

/** Whether a marker of JPEG begins a frame. Three others in its range don't. Source: ITU-T T.81, table B.1. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** From segment to segment up to the first frame; each step goes on. */
const jpegSize = (view: DataView): ImageSize | null => {
  let at = 2
  while (view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1)
    if (isFrame(marker)) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) }
    // Bytes of 0xff may fill the space before a marker.
    if (marker === 0xff) at += 1
    else at += 2 + Math.max(2, view.getUint16(at + 2))
  }
  return null
}

const readers: Readonly<Record<string, (view: DataView) => ImageSize | null>> = {
  "image/png": pngSize,
  "image/gif": gifSize,
  "image/webp": webpSize,
  "image/jpeg": jpegSize
}

/** Width and height of an image of a type that models take; null if its header is cut off or broken. */
export const imageSize = (bytes: Uint8Array, mediaType: string): ImageSize | null => {
  try {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const size = readers[mediaType]?.(view) ?? null
    return size !== null && size.width > 0 && size.height > 0 ? size : null
  } catch {
    // Beyond the last byte.
    return null
  }
}
