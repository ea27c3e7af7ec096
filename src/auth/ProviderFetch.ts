import type { CustomFetch } from "openid-client"

/** The longest answer of a provider, decompressed; its description and its keys have a few thousand bytes. */
const answerBytesMax = 262_144

/** An answer that is not to be read to its end. */
class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong"
  override readonly message = `the answer is longer than ${answerBytesMax} bytes`
}

/** A request that the description of the provider asks for, but that must not be sent. */
class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/** Ends with an error behind the longest answer. */
const bounded = (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      bytes += piece.byteLength
      if (bytes > answerBytesMax) controller.error(new AnswerTooLong())
      else controller.enqueue(piece)
    }
  })
  return body.pipeThrough(limit)
}

/**
 * Sends the requests of openid-client, which sets their timeout and asks only for what the provider's description names. No
 * redirect is followed, so that no other server is asked.
 */
export const makeProviderFetch =
  (isAllowed: (url: URL) => boolean): CustomFetch =>
  async (address, { body, headers, method, signal }) => {
    const url = new URL(address)
    if (!isAllowed(url)) throw new AddressRefused(`${url.origin} is asked by neither https nor on loopback`)
    const answer = await fetch(url, {
      body: body instanceof ArrayBuffer ? new Uint8Array(body) : (body ?? null),
      headers,
      method,
      redirect: "error",
      ...(signal === undefined ? {} : { signal })
    })
    const { status } = answer
    return new Response(answer.body === null ? null : bounded(answer.body), {
      status,
      headers: answer.headers
    })
  }
