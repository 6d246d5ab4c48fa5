/** The cells of a line of CSV (RFC 4180): quotes are doubled inside quotes. */
export function splitCells(line: string): string[] {
  const cells: string[] = []
  let at = 0
  while (at <= line.length) {
    if (line[at] === '"') {
      let text = ''
      for (at++; at < line.length; at++) {
        if (line[at] !== '"') text += line[at]
        else if (line[at + 1] === '"') text += line[at++]
        else break
      }
      cells.push(text)
      at += 2
    } else {
      const end = line.indexOf(',', at)
      cells.push(line.slice(at, end < 0 ? line.length : end))
      at = end < 0 ? line.length + 1 : end + 1
    }
  }
  return cells
}
