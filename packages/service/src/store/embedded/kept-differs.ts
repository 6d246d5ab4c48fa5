import { PriorbookError } from '@priorbook/sdk/domain'

/** An error about lists or sums that are not those of the rows, and how they are mended. */
export function keptDiffers(detail: string): PriorbookError {
  const remedy = 'priorbook-server tape recount makes lists and sums again'
  return new PriorbookError('corrupt_row', `${detail}: ${remedy}`)
}
