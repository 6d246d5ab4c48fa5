import { setFlagsFromString } from 'node:v8'

/**
 * Keeps V8's young generation at 8 MB halves. Node 24 lets it grow until short-lived objects of an
 * import hold 150 MB; with the bound the same import takes 200 MB of memory instead of 330, in the
 * same time. Call before the work begins.
 */
export function boundYoungGeneration(): void {
  setFlagsFromString('--max-semi-space-size=8')
  setFlagsFromString('--semi-space-growth-factor=1')
}
