"""`python -m lab.real`: tasks on real servers on loopback, with recorded model replies or a chat model."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from langchain_core.language_models import BaseChatModel

from lab.kit.process import MissingServerError, ServerError
from lab.kit.tally import say
from lab.real.check import check_task
from lab.real.kinto.server import Kinto
from lab.real.langgraph.server import LangGraph
from lab.real.powerdns.server import PowerDns
from lab.real.run import REPLY_S, Outcome, PromptWatch, run_task
from lab.real.server import Server
from restgpt.specs.docs.documentation import TOKEN
from restgpt.tools.model.model_errors import ModelError
from restgpt.tools.model.provider import resolve_model
from restgpt.tools.model.scripted import Recorder

RECORDED = Path(__file__).with_name("recorded.jsonl")

SERVERS: dict[str, Server] = {server.name: server for server in (LangGraph(), Kinto(), PowerDns())}


def main(arguments: Sequence[str] | None = None, *, servers: Mapping[str, Server] = SERVERS) -> int:
    """Run the tasks; returns 0 if all are fulfilled, 1 if one is not, 2 if they cannot be run."""
    options = _parser(servers).parse_args(arguments)
    watch = PromptWatch()
    outcomes: list[Outcome] = []
    versions, skipped, broken = [], [], []
    try:
        model = None if options.check else _model(options)
        for name in options.server or servers:
            server = servers[name]
            tasks = [task for task in server.tasks if not options.task or task.name in options.task]
            if not tasks:
                continue
            try:
                with server.serve() as running:
                    versions.append(running.version)
                    say(f"{running.version}, {len(running.api(name).operations)} operations")
                    for task in tasks:
                        if model is not None:
                            outcomes.append(run_task(server, running, task, model, watch=watch))
                            say(_line(outcomes[-1]))
                        else:
                            found = check_task(server, running, task)
                            broken += found
                            say("\n         ".join([f"  {'wrong' if found else 'right'}  {task.name}", *found]))
            except MissingServerError as error:
                skipped.append(name)
                say(f"{name}: skipped. {error}")
    except (ServerError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    done, where = sum(outcome.ok for outcome in outcomes), ", ".join(versions) or "no server"
    if options.check:
        say(f"{where}: {f'{len(broken)} findings about judges' if broken else 'all judges are right'}")
    else:
        say(f"{done} of {len(outcomes)} tasks fulfilled on {where}")
    if outcomes:
        calls, tokens = (sum(one.cost[name] for one in outcomes) / len(outcomes) for name in ("calls", "input_tokens"))
        say(f"{calls:.2f} model calls and {tokens:,.0f} input tokens a task")
        say(f"the {watch.prompts} prompts of this run have some {watch.characters // TOKEN:,} tokens")
    if not versions or set(options.require) & set(skipped):
        return 2
    return int(bool(broken) or done < len(outcomes))


def _stopped(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _parser(servers: Mapping[str, Server]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.real", description=__doc__)
    parser.add_argument("--server", action="append", choices=servers, help="only this server; can be repeated")
    parser.add_argument("--task", action="append", metavar="NAME", help="only tasks of this name; can be repeated")
    parser.add_argument("--require", action="append", choices=servers, default=[], help="fail if it is not installed")
    parser.add_argument("--check", action="store_true", help="test the judges of the tasks, without a model")
    parser.add_argument(
        "--model",
        default=f"recorded:{RECORDED}",
        metavar="PROVIDER:NAME",
        help="call this chat model; recorded:FILE replays a recording (default: the one beside this program)",
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="append the prompts and replies to this file")
    return parser


def _model(options: argparse.Namespace) -> BaseChatModel:
    model = resolve_model(options.model, timeout=REPLY_S)
    if options.record is not None:
        model.callbacks = [Recorder(options.record)]
    return model


def _line(outcome: Outcome) -> str:
    cost, person = outcome.cost, outcome.person
    counts = (
        f"{cost['calls']} calls, {cost['input_tokens']:,} tokens in, {cost['requests']} requests, "
        f"{person.approved} approved, {person.rejected} rejected, {person.reads} reads asked about"
    )
    faults = [*outcome.faults, f"answer: {outcome.answer}"] if outcome.faults else []
    return "\n         ".join([f"  {'ok  ' if outcome.ok else 'FAIL'}  {outcome.task:<12} {counts}", *faults])


if __name__ == "__main__":
    # Without this, SIGTERM would end the process at once and leave the servers running.
    signal.signal(signal.SIGTERM, _stopped)
    sys.exit(main())
