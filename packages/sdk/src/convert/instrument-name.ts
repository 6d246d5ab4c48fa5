import type { ReplayInstrument } from '../replay/index.ts'

/** The symbol of an instrument in other tools: its key, with what file names and identifiers cannot have replaced. */
export function symbolOf({ key }: Pick<ReplayInstrument, 'key'>): string {
  return key.replaceAll(/[^A-Za-z0-9_-]/g, '-')
}
