/** The lines of a page; an empty one is a gap. */
export type PdfPage = ReadonlyArray<string>

const lineHeight = 14

const literal = (text: string): string =>
  `(${Buffer.from(text, "latin1")
    .toString("latin1")
    .replace(/[\\()]/g, "\\$&")})`

const contentOf = (lines: PdfPage): string =>
  lines
    .map((line, at) =>
      line === "" ? "" : `BT /F1 11 Tf 1 0 0 1 50 ${750 - at * lineHeight} Tm ${literal(line)} Tj ET`
    )
    .join("\n")

/** The objects of a document with these pages: number 1 is the catalog, 2 the pages, 3 the font. */
const objectsOf = (pages: ReadonlyArray<PdfPage>): ReadonlyArray<string> => {
  const kids = pages.map((_, at) => `${4 + at * 2} 0 R`).join(" ")
  return [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ...pages.flatMap((lines, at) => {
      const content = contentOf(lines)
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + at * 2} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`
      ]
    })
  ]
}

/** A PDF with a line of text for each line given. `trailer` adds to what its end says. */
export const makePdf = (pages: ReadonlyArray<PdfPage>, trailer = ""): Buffer => {
  const pieces: Array<string> = ["%PDF-1.7\n%\u00e2\u00e3\u00cf\u00d3\n"]
  const offsets: Array<number> = []
  let length = pieces[0]!.length
  const objects = objectsOf(pages)
  objects.forEach((object, at) => {
    const piece = `${at + 1} 0 obj\n${object}\nendobj\n`
    offsets.push(length)
    pieces.push(piece)
    length += piece.length
  })
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("")
  pieces.push(
    `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`
  )
  return Buffer.from(pieces.join(""), "latin1")
}

/** A PDF that wants a password: its dictionary says so, and no empty password fits. */
export const makeEncryptedPdf = (): Buffer => {
  const key = "41".repeat(32)
  return makePdf(
    [["secret"]],
    `/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${key}> /U <${key}> >> /ID [<${"42".repeat(16)}> <${"42".repeat(16)}>]`
  )
}
