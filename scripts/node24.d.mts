/** What TypeScript can know of node24.mjs, which itself runs on any Node. */
export declare const serviceFlags: ReadonlyArray<string>
export declare const serviceEnvironment: Readonly<Record<string, string>>
