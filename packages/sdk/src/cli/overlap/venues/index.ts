import type { BookUpdate } from '../book-update.ts'
import { readVenueA } from './venuea.ts'
import { readVenueB } from './venueb.ts'
import { readVenueC } from './venuec.ts'

/** What a message of any venue says of books; undefined where no venue knows such a message. */
export function readVenueMessage(
  message: Readonly<Record<string, unknown>>,
): readonly BookUpdate[] | undefined {
  return readVenueA(message) ?? readVenueB(message) ?? readVenueC(message)
}
