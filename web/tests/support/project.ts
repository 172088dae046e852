/** A new project that has installed the packed package. */
import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const WEB = fileURLToPath(new URL('../../', import.meta.url));
const TOOLS = join(WEB, 'node_modules');

/** The path of a tool among this package's dependencies. */
export function tool(path: string): string {
  return join(TOOLS, path);
}

/** The content of `npm publish`, in a separate folder. `what` is the folder of the package. */
export async function pack(what = WEB): Promise<{ tarball: string; files: string[]; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'wordloom-pack-'));
  const { stdout } = await npm(what, ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]);
  const [packed] = Object.values(JSON.parse(stdout)) as [{ filename: string; files: { path: string }[] }];
  const files = packed.files.map(({ path }) => path);
  return { tarball: join(folder, packed.filename), files, remove: () => rm(folder, { recursive: true }) };
}

export class Project {
  readonly folder: string;

  /** `tools` come from this package's own dependencies, so that nothing is downloaded. */
  static async create(tarballs: string[], files: Record<string, string>, tools: string[] = []): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), 'wordloom-project-')));
    await project.write({ 'package.json': '{ "name": "project", "private": true, "type": "module" }', ...files });
    await npm(project.folder, ['install', '--offline', '--no-audit', '--no-fund', ...tarballs]);
    for (const name of tools) {
      const link = join(project.folder, 'node_modules', name);
      await mkdir(dirname(link), { recursive: true });
      await symlink(tool(name), link, 'junction');
    }
    return project;
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  async write(files: Record<string, string>): Promise<void> {
    for (const [name, content] of Object.entries(files)) await writeFile(join(this.folder, name), content);
  }

  /** Runs a script with Node and returns its output. */
  async node(script: string, ...options: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [script, ...options], { cwd: this.folder });
    return stdout;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

function npm(cwd: string, options: string[]): Promise<{ stdout: string }> {
  const windows = process.platform === 'win32';
  return run(windows ? 'npm.cmd' : 'npm', options, { cwd, shell: windows, maxBuffer: 1 << 26 });
}
