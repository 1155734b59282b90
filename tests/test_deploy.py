"""The files of deploy/: right by their schemas, safe by their settings, and all speaking of the same server.

Nothing is built or started here, which would need a Docker engine and a cluster.
"""

import http.server
import json
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser

from tfattn.config.constructors import constructor
from tfattn.export import serving_config
from tfattn.export.section import Export

PROJECT = Path(__file__).resolve().parent.parent
DEPLOY = PROJECT / "deploy"
SETTINGS = constructor("sections", "serving").arguments
DOCKERFILES = ["Dockerfile", "builtin.Dockerfile"]
METRICS = "/monitoring/prometheus/metrics"
NOBODY = 65534

# Every flag of tensorflow_model_server 2.20, as its main.cc lists them.
FLAGS = re.findall(
    r"\w+",
    """
    port grpc_socket_path rest_api_port rest_api_num_threads rest_api_timeout_in_ms rest_api_enable_cors_support
    enable_batching allow_version_labels_for_unavailable_models batching_parameters_file
    enable_per_model_batching_parameters model_config_file model_config_file_poll_wait_seconds model_name
    model_base_path num_load_threads num_unload_threads max_num_load_retries load_retry_interval_micros
    file_system_poll_wait_seconds flush_filesystem_caches tensorflow_session_parallelism
    tensorflow_session_config_file tensorflow_intra_op_parallelism tensorflow_inter_op_parallelism
    use_alts_credentials ssl_config_file platform_config_file per_process_gpu_memory_fraction saved_model_tags
    grpc_channel_arguments grpc_max_threads enable_model_warmup num_request_iterations_for_warmup version
    monitoring_config_file remove_unused_fields_from_bundle_metagraph prefer_tflite_model num_tflite_pools
    num_tflite_interpreters_per_pool enable_signature_method_name_check xla_cpu_compilation_enabled
    xla_gpu_compilation_enabled enable_profiler thread_pool_factory_config_file mixed_precision skip_initialize_tpu
    enable_grpc_healthcheck_service enable_serialization_as_tensor_content
    """,
)

# What KServe documents of an InferenceService, as far as it is used; what is left open is a container's, held against
# Kubernetes' own schema.
INFERENCE_SERVICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "serving.kserve.io/v1beta1"},
        "kind": {"const": "InferenceService"},
        "metadata": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": {"pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}},
        },
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "required": ["predictor"],
            "properties": {
                "predictor": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["model"],
                    "properties": {
                        "minReplicas": {"type": "integer", "minimum": 0},
                        "maxReplicas": {"type": "integer", "minimum": 1},
                        "automountServiceAccountToken": {"type": "boolean"},
                        "model": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["modelFormat", "storageUri"],
                            "properties": {
                                "modelFormat": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "required": ["name"],
                                    "properties": {"name": {"const": "tensorflow"}, "version": {"type": "string"}},
                                },
                                "runtimeVersion": {"type": "string"},
                                "protocolVersion": {"enum": ["v1", "grpc-v1"]},
                                "storageUri": {"pattern": "^(pvc|s3|gs|https?|hf)://"},
                                **dict.fromkeys(["args", "readinessProbe", "resources", "securityContext"], {}),
                            },
                        },
                    },
                }
            },
        },
    },
}


def dockerfile(name: str) -> dict[str, list[str]]:
    """Instruction to its values, in order."""
    with open(DEPLOY / name, "rb") as file:
        steps = DockerfileParser(fileobj=file).structure
    found: dict[str, list[str]] = {}
    for step in steps:
        found.setdefault(step["instruction"], []).append(step["value"])
    return found


def compose() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["serving"]


def kubernetes() -> dict[str, dict]:
    return {one["kind"]: one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def pod() -> dict:
    return kubernetes()["Deployment"]["spec"]["template"]["spec"]


def container() -> dict:
    return pod()["containers"][0]


def kserve() -> dict:
    return yaml.safe_load((DEPLOY / "kserve.yaml").read_text())["spec"]["predictor"]["model"]


def commands() -> dict[str, list[str]]:
    """The arguments that each file gives to tensorflow_model_server."""
    return {
        "Dockerfile": json.loads(dockerfile("Dockerfile")["ENTRYPOINT"][0])[1:],
        "compose.yaml": compose()["command"],
        "kubernetes.yaml": container()["args"],
        "kserve.yaml": kserve()["args"],
    }


def flags(command: list[str]) -> dict[str, str]:
    return dict(re.fullmatch(r"--(\w+)=(.*)", word).groups() for word in command)


def check_container(parts: dict) -> None:
    """Holds a container's parts against Kubernetes' schema."""
    one = {"name": "serving", "image": "image", **parts}
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"containers": [one]}}
    kubernetes_validate.validate(whole, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_images_use_a_release_run_as_nobody_and_copy_existing_files(name):
    steps = dockerfile(name)
    arguments = dict(one.split("=") for one in steps.get("ARG", []))
    image = re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], steps["FROM"][0])
    assert re.search(r":\d+\.\d+", image), "not a moving target such as latest"
    assert "serving" in image or re.search(r"@sha256:[0-9a-f]{64}$", image)
    assert steps["USER"] == [f"{NOBODY}:{NOBODY}"]
    assert steps["EXPOSE"] == ["8500 8501"]
    kept = [line[1:] for line in (DEPLOY / f"{name}.dockerignore").read_text().splitlines() if line.startswith("!")]
    sources = [source for step in steps["COPY"] for source in step.split()[:-1]]
    assert sorted(sources) == sorted(kept), "the context has what is copied and nothing else"
    assert all((PROJECT / source).exists() for source in sources)
    assert all(json.loads(step) for step in (*steps["ENTRYPOINT"], *steps.get("CMD", []))), "in a form without a shell"


def test_the_compose_file_is_valid_and_safe():
    text = (DEPLOY / "compose.yaml").read_text()
    assert PyCompose.from_yaml(text).service_names() == ["serving"]
    with pytest.raises(ValueError, match="interval"):
        PyCompose.from_yaml(text.replace("interval: 10s", "interval: 10 apples"))
    with pytest.raises(ValueError, match="raed_only"):
        PyCompose.from_yaml(text.replace("read_only", "raed_only"))
    service = compose()
    assert service["user"] == f"{NOBODY}:{NOBODY}"
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]
    for mount in service["volumes"]:
        source, _, way = mount.split(":")
        assert way == "ro"
        assert (DEPLOY / source).exists()


@pytest.mark.parametrize("version", ["1.30", kubernetes_validate.latest_version()])
def test_the_manifest_fits_kubernetes(version):
    found = kubernetes()
    assert list(found) == ["ConfigMap", "Deployment", "Service", "PodDisruptionBudget"]
    for one in found.values():
        kubernetes_validate.validate(one, version, strict=True)
    found["Deployment"]["spec"]["replcas"] = 3
    with pytest.raises(kubernetes_validate.ValidationError, match="replcas"):
        kubernetes_validate.validate(found["Deployment"], version, strict=True)


def test_a_pod_has_minimal_rights():
    assert pod()["automountServiceAccountToken"] is False
    assert pod()["securityContext"]["runAsNonRoot"]
    assert pod()["securityContext"]["runAsUser"] == NOBODY
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for one in (container(), kserve()):
        assert one["securityContext"]["readOnlyRootFilesystem"]
        assert one["securityContext"]["allowPrivilegeEscalation"] is False
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(one["resources"]["requests"])
        assert "memory" in one["resources"]["limits"]
    mounts = {one["mountPath"]: one for one in container()["volumeMounts"]}
    volumes = {one["name"]: one for one in pod()["volumes"]}
    assert set(volumes) == {one["name"] for one in mounts.values()}
    assert [path for path, one in mounts.items() if not one.get("readOnly")] == ["/tmp"]
    assert "emptyDir" in volumes[mounts["/tmp"]["name"]]


def test_probes_use_the_health_endpoints():
    ports = {one["name"]: one["containerPort"] for one in container()["ports"]}
    assert ports == {"grpc": 8500, "rest": 8501}
    asked = {kind: container()[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")}
    assert [one["port"] for one in asked.values()] == ["rest"] * 3
    assert [one["path"] for one in asked.values()] == [METRICS] * 3
    model = flags(kserve()["args"])["model_name"]
    assert kserve()["readinessProbe"]["httpGet"] == {"path": f"/v1/models/{model}/metadata", "port": 8080}
    patience = container()["livenessProbe"]
    assert patience["periodSeconds"] * patience["failureThreshold"] >= 60


def test_only_single_model_deployments_name_the_model():
    whole = yaml.safe_load((DEPLOY / "kserve.yaml").read_text())
    model = flags(kserve()["args"])["model_name"]
    assert whole["metadata"]["name"] == model.replace("_", "-")
    assert kserve()["storageUri"].endswith(f"/{model}")
    named = {path.name for path in DEPLOY.iterdir() if re.search(model.replace("_", "[_-]"), path.read_text())}
    assert named == {"kserve.yaml", "README.md"}


def test_a_terminating_pod_finishes_its_requests():
    sleep = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    longest = SETTINGS["timeout_seconds"].default
    assert sleep >= 10
    assert pod()["terminationGracePeriodSeconds"] >= sleep + longest
    deployment, budget = (kubernetes()[kind]["spec"] for kind in ("Deployment", "PodDisruptionBudget"))
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert deployment["replicas"] > budget["maxUnavailable"]


def test_labels_and_ports_match():
    found = kubernetes()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert {one["port"]: one["targetPort"] for one in found["Service"]["spec"]["ports"]} == {8500: "grpc", 8501: "rest"}


def test_the_inference_service_fits_kserve():
    whole = yaml.safe_load((DEPLOY / "kserve.yaml").read_text())
    jsonschema.validate(whole, INFERENCE_SERVICE)
    check_container({name: kserve()[name] for name in ("args", "readinessProbe", "resources", "securityContext")})
    whole["spec"]["predictor"]["model"]["storageURL"] = "s3://models"
    with pytest.raises(jsonschema.ValidationError, match="storageURL"):
        jsonschema.validate(whole, INFERENCE_SERVICE)


@pytest.mark.parametrize("name", commands())
def test_flags_are_those_of_the_server(name):
    assert set(flags(commands()[name])) <= set(FLAGS)


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "kubernetes.yaml"])
def test_the_server_finds_the_files_of_exports(name, tmp_path):
    (tmp_path / "factory_reports/1").mkdir(parents=True)
    models = Export().served_from
    serving_config.write(tmp_path, served_from=models)
    mounts = {
        "Dockerfile": [step.split()[-1] for step in dockerfile("Dockerfile")["COPY"]],
        "compose.yaml": [mount.split(":")[1] for mount in compose()["volumes"]],
        "kubernetes.yaml": [mount["mountPath"] for mount in container()["volumeMounts"]],
    }[name]
    given = flags(commands()[name])
    assert models in mounts
    assert (given["port"], given["rest_api_port"]) == ("8500", "8501")
    for flag in ("model_config_file", "batching_parameters_file"):
        path = Path(given[flag])
        assert str(path.parent) == models
        assert (tmp_path / path.name).exists()
    assert any(given["monitoring_config_file"].startswith(mount) for mount in mounts)


def test_all_deployments_have_the_same_monitoring_and_release():
    settings = (DEPLOY / "monitoring.config").read_text()
    assert kubernetes()["ConfigMap"]["data"] == {"monitoring.config": settings}
    scraped = kubernetes()["Deployment"]["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"]
    assert f'path: "{scraped}"' in settings
    release = dockerfile("Dockerfile")["ARG"][0].split("=")[1]
    assert compose()["image"] == container()["image"] == f"tensorflow/serving:{release}"
    assert kserve()["runtimeVersion"] == release


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    """Answers the paths of `paths` with 200, all others with 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path in self.server.paths else 404)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def health_commands() -> dict[str, tuple[list[str], str]]:
    """Each health check as a container runs it, and the path that it asks for."""
    found = {name: json.loads(dockerfile(name)["HEALTHCHECK"][0].split(" CMD ")[1]) for name in DOCKERFILES}
    composed = [word.replace("$$", "$") for word in compose()["healthcheck"]["test"][1:]]
    return {
        "Dockerfile": (found["Dockerfile"], METRICS),
        "builtin.Dockerfile": (found["builtin.Dockerfile"], "/v1/health/ready"),
        "compose.yaml": (composed, METRICS),
    }


@pytest.mark.parametrize("name", health_commands())
def test_a_health_check_detects_failures(name, server):
    command, path = health_commands()[name]
    command = [re.sub(r"127\.0\.0\.1([:/])8501", rf"127.0.0.1\g<1>{server.server_port}", word) for word in command]
    assert str(server.server_port) in command[-1]

    def is_well() -> bool:
        return subprocess.run(command, capture_output=True, timeout=20).returncode == 0

    server.paths = {path}
    assert is_well()
    server.paths = {"/v1/models/any"}
    assert not is_well()
    server.shutdown()
    server.server_close()
    assert not is_well()


README = (DEPLOY / "README.md").read_text()


def test_the_readme_names_the_files_and_its_commands_find_them():
    named = set(re.findall(r"^\| `([\w.]+)` \|", README, flags=re.MULTILINE))
    ignored = {f"{name}.dockerignore" for name in DOCKERFILES} | {"README.md", "monitoring.config"}
    assert named == {path.name for path in DEPLOY.iterdir()} - ignored
    lines = re.findall(r"^    ((?:docker|kubectl) .*)$", README, flags=re.MULTILINE)
    files = [words[words.index("-f") + 1] for words in map(shlex.split, lines)]
    assert {Path(file).name for file in files} == named
    assert all((PROJECT / file).exists() for file in files)


def test_the_readme_example_of_the_built_in_engine_is_valid():
    given = yaml.safe_load(re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL).group(1))
    check_container({**container(), **given})
    assert given["command"] == json.loads(dockerfile("builtin.Dockerfile")["ENTRYPOINT"][0])
    words = given["command"] + given["args"]
    settings = [words[index + 1].split("=")[0] for index, word in enumerate(words) if word == "--set"]
    assert set(settings) <= set(SETTINGS)
    assert pod()["terminationGracePeriodSeconds"] >= 15 + SETTINGS["grace_seconds"].default
