import { changing } from "../../client/change.ts"

/** What the keys of all queries of these pages begin with. */
export const administration = "administration"

/** A change; afterwards, everything that these pages show is read again. */
export const useChange = changing(administration)
