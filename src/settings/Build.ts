import manifest from "../../package.json" with { type: "json" }

/** The text that `npm run build` puts in place of this name; there is none where the sources run. */
declare const parleyBuild: string | undefined

/** The running program. */
export interface Build {
  /** The version of package.json. */
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

/** The build in words. */
export const buildText = ({ build, version }: Build): string => `${version} (${build})`
