import { hash } from "node:crypto"
import type { ModelRequest } from "../domain/ModelCall.ts"
import type { Dialect } from "./Dialect.ts"

/**
 * The key by which a server finds the cache of an earlier request, 43 characters; undefined if none is sent.
 * The key is a hash of a text that begins with random ids, so it doesn't reveal whose request it is. OpenAI
 * takes at most 64 characters.
 */
export const promptCacheKey = (
  { cacheScope }: Pick<ModelRequest, "cacheScope">,
  dialect: Pick<Dialect, "promptCacheKey">
): string | undefined =>
  dialect.promptCacheKey && cacheScope !== undefined ? digestOf(cacheScope) : undefined

/** A hash of 43 characters, which doesn't reveal the text. */
export const digestOf = (text: string): string => hash("sha256", text, "base64url")
