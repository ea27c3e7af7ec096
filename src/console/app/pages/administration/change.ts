import { changing } from "../../client/change.ts"

/** The beginning of the keys of all queries of these pages. */
export const administration = "administration"

/** A change; afterwards, everything that these pages show is read again. */
export const useChange = changing(administration)
