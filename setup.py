"""Ships configs/, pipelines/ and all files that are not code inside the package; setup.cfg has everything else."""

from setuptools import find_packages, setup

SHIPPED = {f"tfattn.recipes.{folder}": folder for folder in ("configs", "pipelines")}
# setuptools ignores `package_data` of setup.cfg, because it is given here.
FILES = ("html", "css", "js", "svg", "pyi", "typed")

setup(
    packages=[*find_packages(include=["tfattn*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={
        "tfattn": [f"**/*.{suffix}" for suffix in FILES],
        **{package: ["**/*.yaml"] for package in SHIPPED},
    },
)
