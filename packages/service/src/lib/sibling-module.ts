import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The path of a module beside another one, for a process that starts with it. The repository runs TypeScript, the
 * published package its JavaScript: both modules have the same ending.
 */
export function siblingModule(name: string, module: string): string {
  const path = fileURLToPath(module)
  return fileURLToPath(new URL(`${name}${extname(path)}`, module))
}
