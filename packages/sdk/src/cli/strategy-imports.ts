import module from 'node:module'

const OWN = /^@priorbook\/sdk(?:\/|$)/
const NOT_FOUND = new Set(['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'])

let isOffered = false

/**
 * Lets the modules of a strategy import this SDK wherever they lie. A package installed beside them comes first; without
 * one, as in a folder outside of any project, they get the package that this command belongs to.
 */
export function offerSdk(): void {
  // Node 22.15 and later have hooks; on an older one the strategy needs an installed package.
  if (isOffered || module.registerHooks === undefined) return
  isOffered = true
  module.registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!OWN.test(specifier)) return nextResolve(specifier, context)
      try {
        return nextResolve(specifier, context)
      } catch (error) {
        if (!NOT_FOUND.has((error as NodeJS.ErrnoException).code ?? '')) throw error
        return nextResolve(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}
