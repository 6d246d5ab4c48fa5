import { execFileSync } from 'node:child_process'
import { ROOT } from './manifests.mjs'

/** Runs git in the repository. */
export function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

/** Files that differ from the commit that is released. */
export function checkTree() {
  const changed = git('status', '--porcelain')
  return changed === '' ? [] : [`the tree has changes that are not committed:\n${changed}`]
}
