import { join } from 'node:path'
import { installPackages } from '../cluster/debian.ts'
import { has, must, Skipped } from './steps.ts'

// crun of Debian 12 refuses machines with both versions of control groups.
const PROGRAMS = ['buildah', 'podman', 'runc', 'debootstrap', 'slirp4netns']
// podman asks for the highest limits otherwise, which a machine that is itself a container refuses.
const LIMITS = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096']

/** buildah and podman over images and containers of their own: those of the machine are not touched. */
export class Engine {
  readonly #storage: readonly string[]

  constructor(scratch: string) {
    this.#storage = ['--root', join(scratch, 'storage'), '--runroot', join(scratch, 'run')]
  }

  /** Installs what is missing; a step that cannot be tried is skipped with the reason. */
  install(): void {
    if (process.getuid?.() !== 0) throw new Skipped('debootstrap and podman need root here')
    try {
      installPackages(PROGRAMS, () => PROGRAMS.every(has))
    } catch (error) {
      throw new Skipped((error as Error).message)
    }
  }

  buildah(...args: readonly string[]): string {
    return must('buildah', [...this.#storage, ...args]).trim()
  }

  podman(...args: readonly string[]): string {
    return must('podman', [...this.#storage, '--runtime', 'runc', ...args]).trim()
  }

  /** Starts a container; without `--detach` it gives what the container printed. */
  run(...args: readonly string[]): string {
    return this.podman('run', ...LIMITS, ...args)
  }

  hasImage(name: string): boolean {
    return has('podman') && this.podman('images', '--quiet', name) !== ''
  }

  /** Bytes of an image with all its layers. */
  sizeOf(name: string): number {
    return Number(this.podman('image', 'inspect', '--format', '{{.Size}}', name))
  }

  /** Ends and removes all containers, volumes and images. */
  remove(): void {
    if (!has('podman')) return
    for (const args of [
      ['rm', '--force', '--all', '--time', '0'],
      ['volume', 'rm', '--force', '--all'],
      ['rmi', '--force', '--all'],
    ]) {
      this.podman(...args)
    }
  }
}
