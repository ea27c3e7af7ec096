import manifest from "../../package.json" with { type: "json" }

/** What `npm run build` puts in place of this name; there is none where the sources run. */
declare const parleyBuild: string | undefined

/** What runs here. */
export interface Build {
  /** Of package.json. */
  readonly version: string
  /**
   * The commit that it was built from, with "-dirty" after it where files were changed; "dev" from sources.
   */
  readonly build: string
}

export const thisBuild: Build = {
  version: manifest.version,
  build: typeof parleyBuild === "undefined" ? "dev" : parleyBuild
}

/** For people. */
export const buildText = ({ build, version }: Build): string => `${version} (${build})`
