import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the files of the explorer are. */
export type ExplorerPlaces = {
  /** The folder of the built files; it may not have been built. */
  readonly files: string
  /** The script of `/docs`. */
  readonly docsScript: string
}

// In the published package the explorer lies beside the compiled service.
const PACKAGED = fileURLToPath(new URL('../../web', import.meta.url))

/** Finds the explorer: inside the published package, or as a workspace of the repository. */
export function findExplorer(): ExplorerPlaces | undefined {
  if (existsSync(PACKAGED)) {
    return { files: join(PACKAGED, 'explorer'), docsScript: join(PACKAGED, 'docs.js') }
  }
  try {
    const { resolve } = createRequire(import.meta.url)
    const workspace = dirname(resolve('@priorbook/web/package.json'))
    return { files: join(workspace, 'dist'), docsScript: join(workspace, 'src/docs/docs.ts') }
  } catch {
    // A service that was installed without the explorer.
    return undefined
  }
}
