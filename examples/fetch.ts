// Reads the event stream with nothing but fetch.
const answer = await fetch(`${process.env.PARLEY_URL ?? "http://127.0.0.1:3000"}/v1/responses`, {
  method: "POST",
  headers: { authorization: `Bearer ${process.env.PARLEY_API_KEY}`, "content-type": "application/json" },
  body: JSON.stringify({ input: "Hello!" })
})
// What fails before the stream begins is an HTTP error; what fails later is an `error` event.
if (!answer.ok || answer.body === null) throw new Error(await answer.text())

let rest = ""
for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
  const frames = (rest + text).split("\n\n")
  rest = frames.pop() ?? ""
  for (const frame of frames) {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    // A comment, which keeps the connection open, has no data.
    if (data === undefined) continue
    const event = JSON.parse(data)
    if (event.type === "error") throw new Error(event.error?.message ?? data)
    if (event.type === "response.output_text.delta") process.stdout.write(event.delta)
  }
}
console.log()
