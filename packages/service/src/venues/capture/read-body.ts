const MAX_ANSWER_BYTES = 32 * 1024 * 1024

/** The body of an answer; throws for one that is longer than any of a venue. */
export async function readBody(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > MAX_ANSWER_BYTES) throw new Error(`answer beyond ${MAX_ANSWER_BYTES} bytes`)
    pieces.push(piece)
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}
