import { assert, describe, it } from "@effect/vitest"
import { deviceName } from "../../../../src/console/app/text/device.ts"

const chrome =
  "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"

describe("The name of a device", () => {
  it.each([
    [chrome, "Chrome on Linux"],
    [`${chrome} Edg/150.0.0.0`, "Edge on Linux"],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
      "Firefox on Windows"
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
      "Safari on macOS"
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/150.0.0.0 Mobile/15E148 Safari/604.1",
      "Chrome on iOS"
    ],
    ["curl/8.5.0", "Unknown browser"],
    ["", "Unknown browser"],
    [null, "Unknown device"]
  ])("deviceName for %j is %s", (userAgent, name) => {
    assert.strictEqual(deviceName(userAgent), name)
  })
})
