import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits, saveScreenshot } from "./Checks.ts"
import { owner } from "./People.ts"
import { browse, type VisitOptions } from "./Visit.ts"

let model: MockModelServer

const variables = Effect.gen(function* () {
  model = yield* makeMockModelServer
  return { OPENAI_BASE_URL: model.url, PARLEY_FILE_BYTES_MAX: String(100_000) }
})

const visiting = <A>(use: (page: Page) => Promise<A>, options: VisitOptions) =>
  Effect.gen(function* () {
    const { storageState } = yield* owner
    return yield* browse(use, { storageState, ...options })
  })

const textFile = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) })

const pick = (page: Page, ...files: ReadonlyArray<ReturnType<typeof textFile>>) =>
  page
    .locator("input[type=file]")
    .first()
    .setInputFiles([...files])

/** An expression of the browser: a file as a drag and the clipboard have it. */
const transfer = (name: string, mediaType: string, base64: string): string => {
  const [file, type, data] = [name, mediaType, base64].map((text) => JSON.stringify(text))
  return `(() => {
    const bytes = Uint8Array.from(atob(${data}), (character) => character.charCodeAt(0))
    const files = new DataTransfer()
    files.items.add(new File([bytes], ${file}, { type: ${type} }))
    return files
  })()`
}

const drop = async (page: Page, files: string) => {
  const dataTransfer = await page.evaluateHandle(files)
  await page.dispatchEvent("main", "dragenter", { dataTransfer })
  await page.getByText(/^Drop files to/).waitFor()
  await page.dispatchEvent("main", "drop", { dataTransfer })
}

const paste = (page: Page, files: string) =>
  page.evaluate(`document.querySelector("textarea[aria-label=Message]").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: ${files}, bubbles: true, cancelable: true })
  )`)

const base64Of = (text: string) => Buffer.from(text).toString("base64")
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name })
const menu = async (page: Page, name: string, item: string) => {
  await page.getByRole("button", { name: `Actions for ${name}` }).click()
  await page.getByRole("menuitem", { name: item }).click()
}

const hostile = `<img src=x onerror="globalThis.hacked=1">.txt`
const hostileText = `<script>globalThis.hacked=1</script>\n<img src=x onerror="globalThis.hacked=1">\n[a](javascript:alert(1))`

browserTests(
  "Files",
  (it) => {
    it.effect("files are uploaded together, listed with their size, read, downloaded and deleted", () =>
      visiting(
        async (page) => {
          await pick(
            page,
            textFile("plan.txt", "The plan is to go on."),
            textFile("notes.md", "# Notes\n\nNone.")
          )
          await row(page, "plan.txt").getByText("Ready").waitFor()
          await row(page, "notes.md").getByText("Ready").waitFor()
          await page.getByText(/, and 2 of/).waitFor()
          await assertFits(page)
          await assertAccessible(page)
          await saveScreenshot(page, "files")
          await menu(page, "plan.txt", "What the model sees")
          await page.getByRole("dialog").getByText("The plan is to go on.").waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("dialog").waitFor({ state: "detached" })
          const downloading = page.waitForEvent("download")
          await menu(page, "plan.txt", "Download")
          assert.strictEqual((await downloading).suggestedFilename(), "plan.txt")
          await menu(page, "plan.txt", "Delete…")
          await page
            .getByRole("alertdialog")
            .getByText(/deleted for good/)
            .waitFor()
          await page.getByRole("button", { name: "Delete file" }).click()
          await row(page, "plan.txt").waitFor({ state: "detached" })
        },
        { path: "/files" }
      )
    )

    it.effect("files that are dropped are uploaded, and a hostile name or text does nothing", () =>
      visiting(
        async (page) => {
          await drop(page, transfer(hostile, "text/plain", base64Of(hostileText)))
          await row(page, hostile).getByText("Ready").waitFor()
          await menu(page, hostile, "What the model sees")
          await page.getByRole("dialog").getByText("<script>globalThis.hacked=1</script>").waitFor()
          assert.isFalse(await page.evaluate<boolean>("globalThis.hacked !== undefined"))
          assert.strictEqual(await page.locator("img[src=x]").count(), 0)
        },
        { path: "/files" }
      )
    )

    it.effect("files that can't be uploaded or read say why, and what to do", () =>
      visiting(
        async (page) => {
          await pick(page, textFile("large.txt", "x".repeat(200_000)), {
            name: "broken.pdf",
            mimeType: "application/pdf",
            buffer: Buffer.from("%PDF-1.7\nbroken")
          })
          const uploads = page.getByRole("region", { name: "Uploads" })
          await uploads
            .getByText(/large|bytes|at most/i)
            .first()
            .waitFor()
          await uploads
            .getByRole("listitem")
            .filter({ hasText: "broken.pdf" })
            .getByText(/can.t be read|not/i)
            .waitFor()
          await uploads.getByRole("button", { name: "Take large.txt off the list" }).click()
          await uploads.getByText("large.txt").waitFor({ state: "detached" })
          await row(page, "broken.pdf").getByText("Not readable").waitFor()
        },
        { path: "/files", expected: [/status of 413/] }
      )
    )

    it.effect(
      "an upload is cancelled, and one that a reload broke off goes on once the file is chosen again",
      () =>
        visiting(
          async (page) => {
            // Slow enough to be cancelled.
            await page.route("**/console/files", async (route) => {
              if (route.request().method() === "POST") return
              await route.continue()
            })
            const file = textFile("slow.txt", "Slowly sent.")
            await pick(page, file, textFile("cancelled.txt", "Never sent."))
            const uploads = page.getByRole("region", { name: "Uploads" })
            await uploads.getByRole("button", { name: "Cancel cancelled.txt" }).click()
            await uploads.getByText("cancelled.txt").waitFor({ state: "detached" })
            await uploads.getByText("slow.txt").waitFor()
            await page.reload()
            await page.unroute("**/console/files")
            await uploads.getByText(/Broken off/).waitFor()
            await uploads.locator("input[type=file]").setInputFiles([file])
            await row(page, "slow.txt").getByText("Ready").waitFor()
            await uploads.getByText(/Broken off/).waitFor({ state: "detached" })
          },
          { path: "/files" }
        )
    )

    it.effect("files are dropped, pasted and chosen into a message, and sent with it", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["I have read it."] }, { deltas: ["Again."] })
        yield* visiting(
          async (page) => {
            const message = page.getByLabel("Message")
            await message.waitFor()
            await drop(page, transfer("facts.txt", "text/plain", base64Of("The sky is green.")))
            await paste(page, transfer("more.txt", "text/x-log", base64Of("Grass is blue.")))
            const attached = page.getByRole("list", { name: "Attached files" })
            await attached.getByText("facts.txt").waitFor()
            await attached.getByText("more.txt").waitFor()
            await message.fill("What color is the sky?")
            await assertFits(page)
            await assertAccessible(page)
            await page.getByRole("button", { name: "Send" }).click()
            await page.getByText("I have read it.").first().waitFor()
            await page.getByRole("button", { name: "What the model sees of facts.txt" }).click()
            await page.getByRole("dialog").getByText("The sky is green.").waitFor()
            await page.keyboard.press("Escape")
            assert.strictEqual(await attached.count(), 0)
            await page.getByRole("button", { name: "Retry" }).click()
            await page.getByText("Again.").first().waitFor()
          },
          { path: "/conversations" }
        )
        for (const request of model.requests.slice(-2)) {
          const prompt = JSON.stringify(request.body)
          assert.include(prompt, "The sky is green.")
          assert.include(prompt, "Grass is blue.")
        }
      })
    )

    it.effect(
      "files that are ready stay with a message when the page is loaded again, and a refused one with its reason",
      () =>
        Effect.gen(function* () {
          yield* model.script({ deltas: ["I have read it."] })
          yield* visiting(
            async (page) => {
              const attached = page.getByRole("list", { name: "Attached files" })
              await pick(
                page,
                textFile("sea.txt", "The sea is red."),
                textFile("huge.txt", "x".repeat(200_000))
              )
              const reason = attached.getByText(/larger than/)
              await reason.waitFor()
              await attached.getByText("15 bytes").waitFor()
              await page.reload()
              await reason.waitFor()
              await attached.getByText("15 bytes").waitFor()
              assert.strictEqual(await page.getByRole("button", { name: "Try huge.txt again" }).count(), 0)
              await page.getByLabel("Message").fill("What color is the sea?")
              await page.getByRole("button", { name: "Remove huge.txt" }).click()
              await page.getByRole("button", { name: "Send" }).click()
              await page.getByText("I have read it.").first().waitFor()
            },
            { path: "/conversations", expected: [/status of 413/] }
          )
          assert.include(JSON.stringify(model.requests.at(-1)!.body), "The sea is red.")
        })
    )

    it.effect("files that are gone, or are no image, are named, and taken off the message", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["Gray."] })
        yield* visiting(
          async (page) => {
            const broken = { name: "broken.png", mimeType: "image/png", buffer: Buffer.from("no image") }
            await pick(page, textFile("rain.txt", "Rain is gray."), broken)
            const attached = page.getByRole("list", { name: "Attached files" })
            await attached.getByText("13 bytes").waitFor()
            await attached.getByText("8 bytes").waitFor()
            await page.getByLabel("Message").fill("What color is the rain?")
            await page.getByRole("button", { name: "Send" }).click()
            const alert = page.getByRole("alert")
            await alert.getByText("Edit the message to take a file off.").waitFor()
            assert.notInclude(await alert.innerText(), "input[")
            await page.locator("article").getByText("broken.png").first().waitFor()
            await page.getByRole("button", { name: "Edit" }).click()
            await page.getByRole("button", { name: "Remove broken.png" }).click()
            await page.getByRole("list", { name: "Files of the message" }).getByText("rain.txt").waitFor()
            await assertAccessible(page)
            await page.getByRole("button", { name: "Send", exact: true }).click()
            await page.getByText("Gray.").first().waitFor()
          },
          { path: "/conversations", expected: [/status of 400/] }
        )
        assert.include(JSON.stringify(model.requests.at(-1)!.body), "Rain is gray.")
      })
    )

    it.effect("an image that no model can see is refused with the reason, and the message stays", () =>
      visiting(
        async (page) => {
          await page
            .locator("input[type=file]")
            .first()
            .setInputFiles([
              { name: "picture.png", mimeType: "image/png", buffer: Buffer.from(pixel, "base64") }
            ])
          await page
            .getByRole("list", { name: "Attached files" })
            .getByText(/\d bytes/)
            .waitFor()
          await page.getByLabel("Message").fill("What is this?")
          await page.getByRole("button", { name: "Send" }).click()
          await page.getByText(/image/i).first().waitFor()
          await page.getByText("What is this?").first().waitFor()
          await saveScreenshot(page, "image-refused")
        },
        { path: "/conversations", expected: [/status of 400/] }
      )
    )
  },
  variables
)
